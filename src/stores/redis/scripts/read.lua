-- read: the record, its lease and the clock, without side effect.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: a large body)
-- ARGV  1 'body' where the body is wanted, too
-- Returns  nil | {'record', now, lease left in ms, {fields}, body or nil}
--
-- Closes the race between reading the record and reading its lease: a record settled in between would look lapsed.
-- A claim whose record was evicted still runs while its lease lives, as acquire says: nobody may think it settled.
-- The order is reply.ts's.
local fields = redis.call('HMGET', KEYS[1], 'status', 'execution', 'about', 'createdAt', 'expiresAt', 'startedAt',
  'updatedAt', 'attempt', 'duplicates', 'head', 'logBytes')
local log_bytes = fields[11]
if not fields[1] then
  local holder = redis.call('GET', KEYS[2])
  if not holder then return false end
  fields = { false, holder }
end
-- A log that was evicted is no body.
if log_bytes and redis.call('STRLEN', KEYS[3]) ~= tonumber(log_bytes) then
  fields[10] = fields[10]:gsub('true%]$', 'false]')
end
local body = ARGV[1] == 'body' and not log_bytes and redis.call('HGET', KEYS[1], 'body')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return { 'record', string.format('%.0f', now), string.format('%.0f', redis.call('PTTL', KEYS[2])), fields, body }
