-- acquire: takes the right to execute, or says who has it and what came of it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: a large body)
--       4, 5, 6 … the same of each further name that the fact may be kept under, in the same hash tag but for names of other
--       versions of the rules, which need one server
--       last, where facts exclude each other: who holds their group (string)   the line before it (zset: by arrival)
--       its places (zset: until when each is kept)
--       then, where there may be such: the tombstone of each name (string)
--       behind all, the further names that belong to one fact alone (string: the record that it may belong to). Whether it does, that
--       record says: the one key that is not named here, in the same hash tag
-- ARGV  1 execution  2 digest, or for each name, with a comma between, those that may be there, with | between
--       3 about: what the record keeps of its first request and no script reads
--       4 lease in ms  5 ttl in ms, or 'forever'  6 onFailed: 'retry' | 'replay'  7 onUnknown: 'refuse' | 'retry'
--       8 onCompleted: 'replay' | 'execute'   and of such facts: 9 whenBusy: 'refuse' | 'wait', or ''  10 how long a place is
--       kept, in ms  11 'tombstone' where there may be one, or ''  12 how many further names  13 how long these are kept, in ms
--       14 how many a record has at most
-- Returns  'acquired <name> <attempt> <after>' | 'name_used <places, from 0>' | 'busy <ms that the group has been held>'
--          {'pending <name> <ms held>', '<now> <ms that the place is kept>', {fields}}
--          {'<in_flight | completed | failed | unknown | expired | key_reused> <name>', '<now> <lease left in ms>', {fields}, body or nil}
--          No body: there is none, or it is large and in the log.
--          name: which of the names it was decided on, from 1
--
-- Closes the race between looking and taking: SET NX with its expiry is the claim, and the look, the claim and the
-- answer to replay are one step, over all names; so are the look at the group, and taking it or a place in its line. A claim whose record was evicted still refuses everybody else.
local execution, lease_ms, ttl = ARGV[1], ARGV[4], ARGV[5]
local when_busy, place_ms, tombstones = ARGV[9] ~= '' and ARGV[9], ARGV[10], ARGV[11] == 'tombstone'
local further = tonumber(ARGV[12] or 0)
local names = (#KEYS - further - (when_busy and 3 or 0)) / (tombstones and 4 or 3)
local group, line, places
if when_busy then group, line, places = KEYS[3 * names + 1], KEYS[3 * names + 2], KEYS[3 * names + 3] end
local function tombstone(name) return KEYS[#KEYS - further - names + name] end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The further names are the record's from now on, as many as it may have.
local function own(record)
  if further == 0 then return end
  local text = redis.call('HGET', record, 'names') or ''
  local kept, count = {}, 0
  for key in text:gmatch('%S+') do
    kept[key], count = true, count + 1
  end
  for n = #KEYS - further + 1, #KEYS do
    local key = KEYS[n]
    if not kept[key] and count < tonumber(ARGV[14]) then
      text, count, kept[key] = text .. ' ' .. key, count + 1, true
    end
    if kept[key] then redis.call('SET', key, record, 'PX', ARGV[13]) end
  end
  redis.call('HSET', record, 'names', text)
end

-- The places of those that belong to another fact, or nil.
local function used()
  local mine, places = {}, nil
  for name = 1, names do mine[KEYS[3 * name - 2]] = true end
  for n = 1, further do
    local key = KEYS[#KEYS - further + n]
    local record = redis.call('GET', key)
    if record and not mine[record] and ((redis.call('HGET', record, 'names') or '') .. ' '):find(' ' .. key .. ' ', 1, true) then
      places = (places or 'name_used') .. ' ' .. n - 1
    end
  end
  return places
end

-- Lua writes large numbers as 1.7e+12.
local function digits(number) return string.format('%.0f', number) end

local function keys(name) return KEYS[3 * name - 2], KEYS[3 * name - 1], KEYS[3 * name] end

-- What a record of each name may be compared with: one digest for all, or some for each.
local digest, several = ARGV[2], nil
if digest:find('[,|]') then
  several = {}
  for each in (digest .. ','):gmatch('([^,]*),') do several[#several + 1] = '|' .. each .. '|' end
  digest = digest:match('^[^,|]*')
end

local function agrees(name, kept)
  if not several then return kept == digest end
  return several[name]:find('|' .. (kept or '') .. '|', 1, true)
end

-- What a new record of that name keeps.
local function first_digest(name) return several and several[name]:match('^|([^|]*)') or digest end

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

-- Over what the record is besides: somebody waits for its group. Nil where nobody does who lives.
local function pending(name, fields, waiter, place)
  local view = { 'pending', waiter, fields[3], fields[4], fields[5], fields[6], digits((fields[7] or 1) + 1), fields[8], fields[9] }
  return digits(now) .. ' ' .. digits(place - now), packed(view)
end

-- For how long the group has been held by another fact; nil where nothing keeps this one from it. An execution that nobody has
-- heard of keeps its group, but not from a further attempt at its own fact: `earlier` is the latest one.
local function held(earlier)
  local holder = redis.call('GET', group)
  if holder then
    local by, since = holder:match('^(%S+) (%d+)$')
    return by ~= execution and by ~= earlier and digits(now - since) or nil
  end
  local own = execution .. ' '
  local function is_own(member) return member:sub(1, #own) == own end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', places, '-inf', now)) do
    if not is_own(member) then
      redis.call('ZREM', line, member)
      redis.call('ZREM', places, member)
    end
  end
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  return first and not is_own(first) and '0' or nil
end

local function keep(key)
  if redis.call('PTTL', key) < tonumber(place_ms) then redis.call('PEXPIRE', key, place_ms) end
end

-- A place in the line, at its end or still; or nothing at all.
local function wait(name, fields, ms, attempt)
  if when_busy == 'refuse' then return 'busy ' .. ms end
  local record = keys(name)
  local member, place = execution .. ' ' .. record, digits(now + place_ms)
  redis.call('ZADD', line, 'NX', string.format('%.0f', time[1] * 1000000 + time[2]), member)
  redis.call('ZADD', places, place, member)
  keep(line)
  keep(places)
  redis.call('HSET', record, 'waiter', execution, 'place', place)
  own(record)
  if not fields then
    local earlier = digits((attempt or 1) - 1)
    fields = { 'pending', execution, digits(now), place, nil, nil, earlier, nil, ARGV[3] }
    redis.call('HSET', record, 'status', 'pending', 'execution', execution, 'digest', first_digest(name), 'about', ARGV[3],
      'createdAt', digits(now), 'attempt', earlier)
  end
  if fields[4] ~= 'forever' and (fields[1] == 'pending' or tonumber(fields[4]) < tonumber(place)) then
    fields[4] = place
    redis.call('HSET', record, 'expiresAt', place)
    redis.call('PEXPIREAT', record, place)
  end
  local clock, view = pending(name, fields, execution, place)
  return { 'pending ' .. name .. ' ' .. ms, clock, view }
end

-- The group is this execution's, and its place in the line is over.
local function take(name, fields)
  local record = keys(name)
  redis.call('SET', group, execution .. ' ' .. digits(now), 'PX', lease_ms)
  if fields then redis.call('HDEL', record, 'waiter', 'place') end
  redis.call('ZREM', line, execution .. ' ' .. record)
  redis.call('ZREM', places, execution .. ' ' .. record)
end

local function acquired(name, attempt, after)
  return 'acquired ' .. name .. ' ' .. attempt .. ' ' .. after
end

-- The first of its name, the hot path: no field is written that can be told from its absence.
local function begin(name, attempt)
  local record, lease = keys(name)
  local busy = when_busy and held()
  if busy then return wait(name, nil, busy, attempt) end
  if not claim(lease) then return refusal('in_flight', name, { false, redis.call('GET', lease) }) end
  if when_busy then take(name) end
  local at = expires()
  redis.call('HSET', record, 'status', 'processing', 'execution', execution, 'digest', first_digest(name), 'about', ARGV[3],
    'createdAt', digits(now), 'expiresAt', at)
  if ttl ~= 'forever' then redis.call('PEXPIREAT', record, at) end
  own(record)
  if attempt then
    -- A new generation after one of which a tombstone was left.
    redis.call('HSET', record, 'attempt', attempt, 'after', 'completed')
    redis.call('DEL', tombstone(name))
    return acquired(name, attempt, 'completed')
  end
  return acquired(name, '1', 'none')
end

local function refuse(name, word, fields)
  local record, _, log = keys(name)
  if word ~= 'key_reused' then own(record) end
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
  local busy = when_busy and held(fields[2])
  if busy then return wait(name, fields, busy) end
  if not claim(lease) then return refuse(name, 'in_flight', fields) end
  if when_busy then take(name, fields) end
  local at = expires()
  if after == 'completed' and not echo then
    -- A new generation: nothing of the earlier one stays but its count of attempts.
    redis.call('HDEL', record, 'duplicates', 'names')
    redis.call('HSET', record, 'createdAt', digits(now), 'about', ARGV[3])
  elseif not echo then
    redis.call('HINCRBY', record, 'duplicates', 1)
  end
  redis.call('HDEL', record, 'head', 'body', 'logHead', 'logBytes', 'cancelled')
  if tombstones then redis.call('DEL', tombstone(name)) end
  redis.call('DEL', log)
  redis.call('HSET', record, 'status', 'processing', 'execution', execution, 'attempt', attempt, 'after', after,
    'startedAt', digits(now), 'updatedAt', digits(now), 'expiresAt', at)
  expire(record, at)
  own(record)
  return acquired(name, attempt, after)
end

-- What a record says to this request, changing nothing: a word that refuses, or nil and what a grant would follow.
local function decide(fields, lease, name)
  local status, head = fields[1], fields[10]
  if not agrees(name, fields[11]) then return 'key_reused' end
  if status == 'completed' and ARGV[8] == 'replay' then return 'completed' end
  if status == 'processing' then
    if redis.call('EXISTS', lease) == 1 then return 'in_flight' end
    status = 'unknown'
  end
  if status == 'failed' and ARGV[6] == 'replay' and head then return 'failed' end
  if status == 'unknown' and ARGV[7] == 'refuse' then return 'unknown' end
  return nil, status
end

local function in_line(name, fields, waiter, place)
  local record = keys(name)
  fields[8] = digits(redis.call('HINCRBY', record, 'duplicates', 1))
  own(record)
  local clock, view = pending(name, fields, waiter, place)
  return { 'in_flight ' .. name, clock, view }
end

-- What the tombstone says, where there is one.
local function buried(name)
  local words, kept_digest, about, head = (redis.call('GET', tombstone(name)) or ''):match('^(.-)\n(.-)\n(.-)\n(.*)$')
  if not words then return nil end
  local word = agrees(name, kept_digest) and 'expired' or 'key_reused'
  if word == 'expired' and ARGV[8] == 'execute' then
    local attempt = words:match('^%S+ %S+ %S+ %S+ %S+ %S+ (%S+)')
    return { act = function() return begin(name, digits((tonumber(attempt) or 1) + 1)) end }
  end
  return { refuses = true, act = function() return { word .. ' ' .. name, digits(now) .. ' -1', { words, about, head } } end }
end

-- Nil where nothing lives under the name; else whether it refuses, whether it is this execution's own, and the act itself.
local function look(name)
  local record, lease = keys(name)
  local fields = redis.call('HMGET', record, 'status', 'execution', 'createdAt', 'expiresAt', 'startedAt', 'updatedAt', 'attempt',
    'duplicates', 'about', 'head', 'digest', 'after', 'logBytes')
  if not fields[1] then
    local holder = names > 1 and redis.call('GET', lease)
    if not holder then return tombstones and buried(name) end
    return { refuses = holder ~= execution, own = holder == execution, act = function() return begin(name) end }
  end
  local attempt = fields[7] or '1'
  if fields[1] == 'processing' and fields[2] == execution then
    return { own = true, act = function() return grant(name, attempt, fields[12] or 'none', fields) end }
  end
  local waiter, place
  if when_busy then
    local found = redis.call('HMGET', record, 'waiter', 'place')
    waiter, place = found[1], tonumber(found[2] or 0)
    if waiter == execution then
      local lapsed = fields[1] == 'processing'
      local after = fields[1] == 'pending' and 'none' or lapsed and 'unknown' or fields[1]
      return { own = true, act = function() return grant(name, digits(attempt + 1), after, fields) end }
    end
    -- Its place was over in this very millisecond.
    if fields[1] == 'pending' and place <= now then
      redis.call('DEL', record)
      return nil
    end
  end
  -- A late copy: its execution has ended, and nobody waits for another claim.
  if fields[2] == execution then
    return { refuses = true, act = function() return refuse(name, fields[1] == 'completed' and 'completed' or 'unknown', fields) end }
  end
  if waiter and place > now and agrees(name, fields[11]) then
    return { refuses = true, act = function() return in_line(name, fields, waiter, place) end }
  end
  local word, after = decide(fields, lease, name)
  if word then return { refuses = true, act = function() return refuse(name, word, fields) end } end
  return { act = function() return grant(name, digits(attempt + 1), after, fields) end }
end

local others = used()
if others then return others end

-- Its own claim before all, then whatever refuses, then what lives.
local first, refusing
for name = 1, names do
  local found = look(name)
  if found and found.own then return found.act() end
  first = first or found
  if found and found.refuses then refusing = refusing or found end
end
local chosen = refusing or first
if chosen then return chosen.act() end
return begin(1)
