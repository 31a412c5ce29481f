-- renew: gives a living lease its full length again.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: the body so far)
--       4 who holds its group (string), where it has one
-- ARGV  1 execution  2 lease in ms  3 ttl in ms, or 'forever'
-- Returns  'ok' | 'cancelled': renewed as well | 'stale'
--
-- Closes the race between comparing and extending: a lease that ran out, or is another's, is never extended.
local record, lease, log = KEYS[1], KEYS[2], KEYS[3]
local execution, lease_ms, ttl = ARGV[1], ARGV[2], ARGV[3]

local fields = redis.call('HMGET', record, 'status', 'execution', 'logHead', 'cancelled')
if fields[1] ~= 'processing' or fields[2] ~= execution then return 'stale' end
if redis.call('GET', lease) ~= execution then return 'stale' end

redis.call('PEXPIRE', lease, lease_ms)
local holder = KEYS[4] and redis.call('GET', KEYS[4])
if holder and holder:sub(1, #execution + 1) == execution .. ' ' then redis.call('PEXPIRE', KEYS[4], lease_ms) end
if ttl == 'forever' then
  redis.call('HSET', record, 'expiresAt', ttl)
  redis.call('PERSIST', record)
  if fields[3] then redis.call('PERSIST', log) end
else
  local time = redis.call('TIME')
  local expires = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + lease_ms + ttl)
  redis.call('HSET', record, 'expiresAt', expires)
  redis.call('PEXPIREAT', record, expires)
  if fields[3] then redis.call('PEXPIREAT', log, expires) end
end
return fields[4] and 'cancelled' or 'ok'
