-- acquire: takes the right to execute, or says who has it and what came of it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)
-- ARGV  1 execution  2 rule  3 owner  4 digest  5 digestFields  6 lease in ms  7 ttl in ms, or 'forever'
--       8 onFailed: 'retry' | 'replay'   9 onUnknown: 'refuse' | 'retry'
-- Returns  {'acquired', attempt, after}
--          {'in_flight' | 'completed' | 'failed' | 'unknown' | 'key_reused', now, lease left in ms, {fields}, body or nil}
--
-- Closes the race between looking and taking: SET NX with its expiry is the claim, and the look, the claim and the
-- answer to replay are one step. A claim whose record was evicted still refuses everybody else.
local record, lease = KEYS[1], KEYS[2]
local execution, digest, lease_ms, ttl = ARGV[1], ARGV[4], ARGV[6], ARGV[7]

-- Lua writes large numbers as 1.7e+12.
local function digits(number) return string.format('%.0f', number) end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The order is reply.ts's.
local fields = redis.call('HMGET', record, 'rule', 'owner', 'status', 'attempt', 'execution', 'duplicates', 'createdAt',
  'startedAt', 'updatedAt', 'expiresAt', 'digestFields', 'head', 'digest', 'after')
local STATUS, ATTEMPT, EXECUTION, DUPLICATES, HEAD, DIGEST, AFTER = 3, 4, 5, 6, 12, 13, 14

local function refuse(word, body)
  if word ~= 'key_reused' and fields[STATUS] and fields[EXECUTION] ~= execution then
    fields[DUPLICATES] = digits(redis.call('HINCRBY', record, 'duplicates', 1))
  end
  return { word, digits(now), digits(redis.call('PTTL', lease)), fields, body or false }
end

local function grant(attempt, after)
  if not redis.call('SET', lease, execution, 'NX', 'PX', lease_ms) then
    local holder = redis.call('GET', lease)
    if holder ~= execution then
      fields[EXECUTION] = fields[EXECUTION] or holder
      return refuse('in_flight')
    end
    redis.call('PEXPIRE', lease, lease_ms)
  end
  if not fields[STATUS] then
    redis.call('HSET', record, 'rule', ARGV[2], 'owner', ARGV[3], 'digest', digest, 'digestFields', ARGV[5],
      'duplicates', '0', 'createdAt', digits(now))
  else
    redis.call('HDEL', record, 'head', 'body')
    if fields[EXECUTION] ~= execution then redis.call('HINCRBY', record, 'duplicates', 1) end
  end
  local expires = ttl
  if ttl ~= 'forever' then expires = digits(now + lease_ms + ttl) end
  redis.call('HSET', record, 'status', 'processing', 'attempt', attempt, 'execution', execution, 'after', after,
    'startedAt', digits(now), 'updatedAt', digits(now), 'expiresAt', expires)
  if ttl == 'forever' then redis.call('PERSIST', record) else redis.call('PEXPIREAT', record, expires) end
  return { 'acquired', attempt, after }
end

local status = fields[STATUS]
if not status then return grant('1', 'none') end
if status == 'processing' and fields[EXECUTION] == execution then return grant(fields[ATTEMPT], fields[AFTER]) end
if fields[DIGEST] ~= digest then return refuse('key_reused') end

if status == 'processing' then
  if redis.call('EXISTS', lease) == 1 then return refuse('in_flight') end
  status = 'unknown'
end
local next_attempt = digits(fields[ATTEMPT] + 1)
if status == 'completed' then return refuse('completed', redis.call('HGET', record, 'body')) end
if status == 'failed' then
  if ARGV[8] == 'replay' and fields[HEAD] then return refuse('failed', redis.call('HGET', record, 'body')) end
  return grant(next_attempt, 'failed')
end
if ARGV[9] == 'refuse' then return refuse('unknown') end
return grant(next_attempt, 'unknown')
