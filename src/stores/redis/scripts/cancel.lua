-- cancel: notes that the running execution shall be given up; renew tells it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)
-- ARGV  1 execution
-- Returns  'ok' | 'stale'
--
-- Closes the race between comparing and noting: an execution that began in between is not meant.
local record, lease = KEYS[1], KEYS[2]

local fields = redis.call('HMGET', record, 'status', 'execution')
if fields[1] ~= 'processing' or fields[2] ~= ARGV[1] then return 'stale' end
if redis.call('GET', lease) ~= ARGV[1] then return 'stale' end
redis.call('HSET', record, 'cancelled', '1')
return 'ok'
