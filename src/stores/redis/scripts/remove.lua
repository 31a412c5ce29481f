-- remove: takes one record away, with all that belongs to it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: a large body)
--       4 its tombstone (string: words, digest, about and head, a line each)
-- ARGV  1 the execution that it was seen with
-- Returns  'ok' | 'stale'
--
-- Closes the race between looking and removing: an execution that was granted in between, or whose lease lives, keeps its record,
-- and so does one that waits for its group.
local record, lease, log, tombstone = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local execution, waiter, place = unpack(redis.call('HMGET', record, 'execution', 'waiter', 'place'))
execution = execution or (redis.call('GET', tombstone) or ''):match('^%S+ (%S+)')
if execution ~= ARGV[1] or redis.call('EXISTS', lease) == 1 then return 'stale' end
local time = redis.call('TIME')
if waiter and tonumber(place) > time[1] * 1000 + math.floor(time[2] / 1000) then return 'stale' end
redis.call('DEL', record, log, tombstone)
return 'ok'
