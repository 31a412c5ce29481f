-- remove: takes one record away, with all that belongs to it.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: a large body)
-- ARGV  1 the execution that it was seen with
-- Returns  'ok' | 'stale'
--
-- Closes the race between looking and removing: an execution that was granted in between, or whose lease lives, keeps its record.
local record, lease, log = KEYS[1], KEYS[2], KEYS[3]
if redis.call('HGET', record, 'execution') ~= ARGV[1] or redis.call('EXISTS', lease) == 1 then return 'stale' end
redis.call('DEL', record, log)
return 'ok'
