-- acquire: takes the right to execute, or says who has it and what came of it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: a large body)
--       4, 5, 6 … the same of each further name that the fact may be kept under, in the same hash tag
-- ARGV  1 execution  2 digest  3 about: what the record keeps of its first request and no script reads
--       4 lease in ms  5 ttl in ms, or 'forever'  6 onFailed: 'retry' | 'replay'  7 onUnknown: 'refuse' | 'retry'
--       8 onCompleted: 'replay' | 'execute'
-- Returns  'acquired <name> <attempt> <after>'
--          {'<in_flight | completed | failed | unknown | key_reused> <name>', '<now> <lease left in ms>', {fields}, body or nil}
--          No body: there is none, or it is large and in the log.
--          name: which of the names it was decided on, from 1
--
-- Closes the race between looking and taking: SET NX with its expiry is the claim, and the look, the claim and the
-- answer to replay are one step, over all names. A claim whose record was evicted still refuses everybody else.
local execution, digest, lease_ms, ttl = ARGV[1], ARGV[2], ARGV[4], ARGV[5]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Lua writes large numbers as 1.7e+12.
local function digits(number) return string.format('%.0f', number) end

local function keys(name) return KEYS[3 * name - 2], KEYS[3 * name - 1], KEYS[3 * name] end

local function claim(lease)
  if redis.call('SET', lease, execution, 'NX', 'PX', lease_ms) then return true end
  if redis.call('GET', lease) ~= execution then return false end
  redis.call('PEXPIRE', lease, lease_ms)
  return true
end

-- When the record is to go. A living lease outlives no record.
local function expires()
  return ttl == 'forever' and ttl or digits(now + lease_ms + ttl)
end

local function expire(record, at)
  if ttl == 'forever' then redis.call('PERSIST', record) else redis.call('PEXPIREAT', record, at) end
end

-- As reply.ts reads them: what is words in one text, '-' where absent, which takes less time than a list; then about and head.
local function packed(fields)
  local words = {}
  for n = 1, 8 do words[n] = fields[n] or '-' end
  return { table.concat(words, ' '), fields[9] or false, fields[10] or false }
end

local function refusal(word, name, fields, body)
  local _, lease = keys(name)
  local left = (fields[1] or 'processing') == 'processing' and redis.call('PTTL', lease) or -1
  return { word .. ' ' .. name, digits(now) .. ' ' .. digits(left), packed(fields), body or false }
end

local function acquired(name, attempt, after)
  return 'acquired ' .. name .. ' ' .. attempt .. ' ' .. after
end

-- The first of its name, the hot path: no field is written that can be told from its absence.
local function begin(name)
  local record, lease = keys(name)
  if not claim(lease) then return refusal('in_flight', name, { false, redis.call('GET', lease) }) end
  local at = expires()
  redis.call('HSET', record, 'status', 'processing', 'execution', execution, 'digest', digest, 'about', ARGV[3],
    'createdAt', digits(now), 'expiresAt', at)
  if ttl ~= 'forever' then redis.call('PEXPIREAT', record, at) end
  return acquired(name, '1', 'none')
end

local function refuse(name, word, fields)
  local record, _, log = keys(name)
  if word ~= 'key_reused' and fields[2] ~= execution then
    -- A server that is out of memory counts no more, but answers.
    local count = redis.pcall('HINCRBY', record, 'duplicates', 1)
    if type(count) == 'number' then fields[8] = digits(count) end
  end
  local log_bytes = fields[13]
  -- A log that was evicted is no body.
  if log_bytes and redis.call('STRLEN', log) ~= tonumber(log_bytes) then fields[10] = fields[10]:gsub('true%]$', 'false]') end
  local replayed = word == 'completed' or word == 'failed'
  return refusal(word, name, fields, replayed and not log_bytes and redis.call('HGET', record, 'body'))
end

local function grant(name, attempt, after, fields)
  local record, lease, log = keys(name)
  local echo = fields[2] == execution
  if not claim(lease) then return refuse(name, 'in_flight', fields) end
  local at = expires()
  if after == 'completed' and not echo then
    -- A new generation: nothing of the earlier one stays but its count of attempts.
    redis.call('HDEL', record, 'duplicates')
    redis.call('HSET', record, 'createdAt', digits(now), 'about', ARGV[3])
  elseif not echo then
    redis.call('HINCRBY', record, 'duplicates', 1)
  end
  redis.call('HDEL', record, 'head', 'body', 'logHead', 'logBytes', 'cancelled')
  redis.call('DEL', log)
  redis.call('HSET', record, 'status', 'processing', 'execution', execution, 'attempt', attempt, 'after', after,
    'startedAt', digits(now), 'updatedAt', digits(now), 'expiresAt', at)
  expire(record, at)
  return acquired(name, attempt, after)
end

-- What a record says to this request, changing nothing: a word that refuses, or nil and what a grant would follow.
local function decide(fields, lease)
  local status, head = fields[1], fields[10]
  if fields[11] ~= digest then return 'key_reused' end
  if status == 'completed' and ARGV[8] == 'replay' then return 'completed' end
  if status == 'processing' then
    if redis.call('EXISTS', lease) == 1 then return 'in_flight' end
    status = 'unknown'
  end
  if status == 'failed' and ARGV[6] == 'replay' and head then return 'failed' end
  if status == 'unknown' and ARGV[7] == 'refuse' then return 'unknown' end
  return nil, status
end

-- Nil where nothing lives under the name; else whether it refuses, whether it is this execution's own, and the act itself.
local function look(name)
  local record, lease = keys(name)
  local fields = redis.call('HMGET', record, 'status', 'execution', 'createdAt', 'expiresAt', 'startedAt', 'updatedAt', 'attempt',
    'duplicates', 'about', 'head', 'digest', 'after', 'logBytes')
  if not fields[1] then
    local holder = #KEYS > 3 and redis.call('GET', lease)
    if not holder then return nil end
    return { refuses = holder ~= execution, own = holder == execution, act = function() return begin(name) end }
  end
  local attempt = fields[7] or '1'
  if fields[1] == 'processing' and fields[2] == execution then
    return { own = true, act = function() return grant(name, attempt, fields[12] or 'none', fields) end }
  end
  -- A late copy: its execution has ended, and nobody waits for another claim.
  if fields[2] == execution then
    return { refuses = true, act = function() return refuse(name, fields[1] == 'completed' and 'completed' or 'unknown', fields) end }
  end
  local word, after = decide(fields, lease)
  if word then return { refuses = true, act = function() return refuse(name, word, fields) end } end
  return { act = function() return grant(name, digits(attempt + 1), after, fields) end }
end

-- Its own claim before all, then whatever refuses, then what lives.
local first, refusing
for name = 1, #KEYS / 3 do
  local found = look(name)
  if found and found.own then return found.act() end
  first = first or found
  if found and found.refuses then refusing = refusing or found end
end
local chosen = refusing or first
if chosen then return chosen.act() end
return begin(1)
