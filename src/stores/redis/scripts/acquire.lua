-- acquire: takes the right to execute, or says who has it and what came of it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)
-- ARGV  1 execution  2 digest  3 about: what the record keeps of its first request and no script reads
--       4 lease in ms  5 ttl in ms, or 'forever'  6 onFailed: 'retry' | 'replay'  7 onUnknown: 'refuse' | 'retry'
--       8 onCompleted: 'replay' | 'execute'
-- Returns  {'acquired', attempt, after}
--          {'in_flight' | 'completed' | 'failed' | 'unknown' | 'key_reused', now, lease left in ms, {fields}, body or nil}
--
-- Closes the race between looking and taking: SET NX with its expiry is the claim, and the look, the claim and the
-- answer to replay are one step. A claim whose record was evicted still refuses everybody else.
local record, lease = KEYS[1], KEYS[2]
local execution, digest, lease_ms, ttl = ARGV[1], ARGV[2], ARGV[4], ARGV[5]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Lua writes large numbers as 1.7e+12.
local function digits(number) return string.format('%.0f', number) end

local function claim()
  if redis.call('SET', lease, execution, 'NX', 'PX', lease_ms) then return true end
  if redis.call('GET', lease) ~= execution then return false end
  redis.call('PEXPIRE', lease, lease_ms)
  return true
end

-- When the record is to go. A living lease outlives no record.
local function expires()
  return ttl == 'forever' and ttl or digits(now + lease_ms + ttl)
end

local function expire(at)
  if ttl == 'forever' then redis.call('PERSIST', record) else redis.call('PEXPIREAT', record, at) end
end

-- The first of its fingerprint, the hot path: no field is written that can be told from its absence.
if redis.call('EXISTS', record) == 0 then
  if not claim() then
    local holder = redis.call('GET', lease)
    return { 'in_flight', digits(now), digits(redis.call('PTTL', lease)), { false, holder }, false }
  end
  local at = expires()
  redis.call('HSET', record, 'status', 'processing', 'execution', execution, 'digest', digest, 'about', ARGV[3],
    'createdAt', digits(now), 'expiresAt', at)
  if ttl ~= 'forever' then redis.call('PEXPIREAT', record, at) end
  return { 'acquired', '1', 'none' }
end

-- The order is reply.ts's.
local fields = redis.call('HMGET', record, 'status', 'execution', 'about', 'createdAt', 'expiresAt', 'startedAt',
  'updatedAt', 'attempt', 'duplicates', 'head', 'digest', 'after')
local status, holder, head, kept_digest = fields[1], fields[2], fields[10], fields[11]

local function refuse(word, body)
  if word ~= 'key_reused' and holder ~= execution then
    fields[9] = digits(redis.call('HINCRBY', record, 'duplicates', 1))
  end
  return { word, digits(now), digits(redis.call('PTTL', lease)), fields, body or false }
end

local function grant(attempt, after)
  if not claim() then return refuse('in_flight') end
  local at = expires()
  if after == 'completed' and holder ~= execution then
    -- A new generation: nothing of the earlier one stays but its count of attempts.
    redis.call('HDEL', record, 'duplicates')
    redis.call('HSET', record, 'createdAt', digits(now), 'about', ARGV[3])
  elseif holder ~= execution then
    redis.call('HINCRBY', record, 'duplicates', 1)
  end
  redis.call('HDEL', record, 'head', 'body')
  redis.call('HSET', record, 'status', 'processing', 'execution', execution, 'attempt', attempt, 'after', after,
    'startedAt', digits(now), 'updatedAt', digits(now), 'expiresAt', at)
  expire(at)
  return { 'acquired', attempt, after }
end

local attempt = fields[8] or '1'
if status == 'processing' and holder == execution then return grant(attempt, fields[12] or 'none') end
if kept_digest ~= digest then return refuse('key_reused') end
if status == 'completed' and ARGV[8] == 'replay' then
  return refuse('completed', redis.call('HGET', record, 'body'))
end
if status == 'processing' then
  if redis.call('EXISTS', lease) == 1 then return refuse('in_flight') end
  status = 'unknown'
end
if status == 'failed' and ARGV[6] == 'replay' and head then
  return refuse('failed', redis.call('HGET', record, 'body'))
end
if status == 'unknown' and ARGV[7] == 'refuse' then return refuse('unknown') end
return grant(digits(attempt + 1), status)
