-- renew: gives a living lease its full length again.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)
-- ARGV  1 execution  2 lease in ms  3 ttl in ms, or 'forever'
-- Returns  'ok' | 'stale'
--
-- Closes the race between comparing and extending: a lease that ran out, or is another's, is never extended.
local record, lease = KEYS[1], KEYS[2]
local execution, lease_ms, ttl = ARGV[1], ARGV[2], ARGV[3]

local fields = redis.call('HMGET', record, 'status', 'execution')
if fields[1] ~= 'processing' or fields[2] ~= execution then return 'stale' end
if redis.call('GET', lease) ~= execution then return 'stale' end

redis.call('PEXPIRE', lease, lease_ms)
if ttl == 'forever' then
  redis.call('HSET', record, 'expiresAt', ttl)
  redis.call('PERSIST', record)
else
  local time = redis.call('TIME')
  local expires = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + lease_ms + ttl)
  redis.call('HSET', record, 'expiresAt', expires)
  redis.call('PEXPIREAT', record, expires)
end
return 'ok'
