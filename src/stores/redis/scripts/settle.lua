-- settle: writes how an execution ended, frees its lease and tells whoever waits.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)
-- ARGV  1 execution  2 to: 'completed' | 'failed' | 'unknown'  3 ttl in ms, or 'forever'  4 keep at least, in ms
--       5 head of the response, or '' when there is none   6 its body
-- Returns  'ok' | 'stale'
--
-- Closes the race between comparing and writing: an execution that lost its turn cannot overwrite a later one, nor free
-- its lease. A lapsed lease alone is no bar: nobody else was granted, so the late answer is the answer.
local record, lease = KEYS[1], KEYS[2]
local execution, to, ttl, keep, head = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local fields = redis.call('HMGET', record, 'status', 'execution', 'createdAt')
local status = fields[1]
if not status or fields[2] ~= execution then return 'stale' end
if status == to then return 'ok' end
if status == 'completed' or status == 'failed' then return 'stale' end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = ttl
if ttl ~= 'forever' then
  local from = fields[3]
  if to == 'unknown' then from = now end
  expires = string.format('%.0f', math.max(from + ttl, now + keep))
end

redis.call('HSET', record, 'status', to, 'updatedAt', string.format('%.0f', now), 'expiresAt', expires)
if head == '' then
  redis.call('HDEL', record, 'head', 'body')
else
  redis.call('HSET', record, 'head', head, 'body', ARGV[6])
end
if ttl == 'forever' then redis.call('PERSIST', record) else redis.call('PEXPIREAT', record, expires) end
-- The record's execution is the only one that can hold its lease.
redis.call('DEL', lease)
redis.call('PUBLISH', record .. ':settled', to)
return 'ok'
