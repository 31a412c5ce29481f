-- read: the record, its lease and the clock, without side effect.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: a large body)
--       4 its tombstone (string: words, digest, about and head, a line each)
-- ARGV  1 'body' where the body is wanted, too
-- Returns  nil | {'<now> <lease left in ms>', {fields}, body or nil}
--
-- Closes the race between reading the record and reading its lease: a record settled in between would look lapsed.
-- A claim whose record was evicted still runs while its lease lives, as acquire says: nobody may think it settled.

-- As reply.ts reads them: what is words in one text, '-' where absent, which takes less time than a list; then about and head.
local function packed(fields)
  local words = {}
  for n = 1, 8 do words[n] = fields[n] or '-' end
  return { table.concat(words, ' '), fields[9] or false, fields[10] or false }
end

local fields = redis.call('HMGET', KEYS[1], 'status', 'execution', 'createdAt', 'expiresAt', 'startedAt', 'updatedAt', 'attempt',
  'duplicates', 'about', 'head', 'logBytes', 'waiter', 'place')
local log_bytes = fields[11]
if not fields[1] then
  local holder = redis.call('GET', KEYS[2])
  if not holder then
    local words, _, about, head = (redis.call('GET', KEYS[4]) or ''):match('^(.-)\n(.-)\n(.-)\n(.*)$')
    if not words or ARGV[1] == 'body' then return false end
    local time = redis.call('TIME')
    return { string.format('%.0f -1', time[1] * 1000 + math.floor(time[2] / 1000)), { words, about, head } }
  end
  fields = { false, holder }
end
-- A log that was evicted is no body.
if log_bytes and redis.call('STRLEN', KEYS[3]) ~= tonumber(log_bytes) then
  fields[10] = fields[10]:gsub('true%]$', 'false]')
end
local body = ARGV[1] == 'body' and not log_bytes and redis.call('HGET', KEYS[1], 'body')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = redis.call('PTTL', KEYS[2])
local waiter, place = fields[12], tonumber(fields[13] or 0)
if waiter and place > now then
  -- Whatever the record is besides, somebody waits for its group.
  fields = { 'pending', waiter, fields[3], fields[4], fields[5], fields[6], string.format('%.0f', (fields[7] or 1) + 1), fields[8], fields[9],
    ARGV[1] == 'body' and fields[10] }
  left = place - now
elseif fields[1] == 'pending' then
  return false
end
return { string.format('%.0f %.0f', now, left), packed(fields), body }
