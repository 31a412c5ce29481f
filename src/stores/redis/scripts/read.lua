-- read: the record, its lease and the clock, without side effect.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)
-- Returns  nil | {'record', now, lease left in ms, {fields}}
--
-- Closes the race between reading the record and reading its lease: a record settled in between would look lapsed.
-- A claim whose record was evicted still runs while its lease lives, as acquire says: nobody may think it settled.
-- The order is reply.ts's.
local fields = redis.call('HMGET', KEYS[1], 'status', 'execution', 'about', 'createdAt', 'expiresAt', 'startedAt',
  'updatedAt', 'attempt', 'duplicates', 'head')
if not fields[1] then
  local holder = redis.call('GET', KEYS[2])
  if not holder then return false end
  fields = { false, holder }
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return { 'record', string.format('%.0f', now), string.format('%.0f', redis.call('PTTL', KEYS[2])), fields }
