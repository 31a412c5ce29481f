-- read-log: bytes of an execution's answer from an offset on, while it comes or after it was stored; without side effect.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: the body)
-- ARGV  1 execution  2 offset  3 at most so many bytes
-- Returns  {'open', lease left in ms, head or nil, bytes}
--          {'closed', head, bytes}
--          {'gone'} | {'gone', '<now> <lease left in ms>', {fields}}
--
-- Closes the race between reading the record and reading its log, which may be another execution's by then. A log that
-- was evicted is gone: what is left is never given for the whole.
local record, lease, log = KEYS[1], KEYS[2], KEYS[3]
local offset, most = tonumber(ARGV[2]), tonumber(ARGV[3])

local fields = redis.call('HMGET', record, 'status', 'execution', 'createdAt', 'expiresAt', 'startedAt', 'updatedAt', 'attempt',
  'duplicates', 'about', 'head', 'logHead', 'logBytes', 'waiter', 'place')
local status, head, open, log_bytes = fields[1], fields[10], fields[11], fields[12]
local left = redis.call('PTTL', lease)

local function digits(number) return string.format('%.0f', number) end

-- As reply.ts reads them: what is words in one text, '-' where absent, which takes less time than a list; then about and head.
local function packed(fields)
  local words = {}
  for n = 1, 8 do words[n] = fields[n] or '-' end
  return { table.concat(words, ' '), fields[9] or false, fields[10] or false }
end

local function gone()
  if not status then
    local holder = redis.call('GET', lease)
    if not holder then return { 'gone' } end
    fields = { false, holder }
  end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local waiter, place = fields[13], tonumber(fields[14] or 0)
  if waiter and place > now then
    fields = { 'pending', waiter, fields[3], fields[4], fields[5], fields[6], digits((fields[7] or 1) + 1), fields[8], fields[9] }
    left = place - now
  elseif status == 'pending' then
    return { 'gone' }
  end
  return { 'gone', digits(now) .. ' ' .. digits(left), packed(fields) }
end

local function bytes() return redis.call('GETRANGE', log, ARGV[2], digits(offset + most - 1)) end

if fields[2] ~= ARGV[1] then return gone() end
if status == 'processing' then
  if left < 0 or open == '' then return gone() end
  if not open then return { 'open', digits(left), false, '' } end
  if redis.call('EXISTS', log) == 0 then return gone() end
  return { 'open', digits(left), open, bytes() }
end
if status == 'unknown' or status == 'pending' or not head or not head:find('true%]$') then return gone() end
if not log_bytes then
  return { 'closed', head, redis.call('HGET', record, 'body'):sub(offset + 1, offset + most) }
end
if redis.call('STRLEN', log) == tonumber(log_bytes) then return { 'closed', head, bytes() } end
fields[10] = head:gsub('true%]$', 'false]')
return gone()
