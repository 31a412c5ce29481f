-- settle: writes how an execution ended, frees its lease and tells whoever waits.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: the body so far)
--       where it has a group: 4 who holds that (string)   5 the line before it (zset)   6 its places (zset: until when each is kept)
--       last, with ARGV 9: its tombstone (string: the words of the record, its digest, about and head, a line each)
-- ARGV  1 execution  2 to: 'completed' | 'failed' | 'unknown'  3 ttl in ms, or 'forever'  4 keep at least, in ms
--       5 head of the response, or '' when there is none   6 its body, or what comes after the log
--       7 how many bytes are in the log; absent: 0   8 'log' where the body is large and stays there
--       9 for how long after its end a completed record still refuses, in ms
-- Returns  'ok' | 'stale'
--
-- Closes the race between comparing and writing: an execution that lost its turn cannot overwrite a later one, nor free
-- its lease or its group. A lapsed lease alone is no bar: nobody else was granted, so the late answer is the answer. The log becomes
-- the body in the same step that looks at its length. An execution that waits gives up its place, and whose turn it is is told.
local record, lease, log = KEYS[1], KEYS[2], KEYS[3]
local execution, to, ttl, keep, head, body = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local logged, in_log = tonumber(ARGV[7] or 0), ARGV[8] == 'log'

local fields = redis.call('HMGET', record, 'status', 'execution', 'createdAt', 'logHead')
local status, open = fields[1], fields[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local group, line, places
if #KEYS >= 6 then group, line, places = KEYS[4], KEYS[5], KEYS[6] end
local waiter, place
if group then
  local found = redis.call('HMGET', record, 'waiter', 'place')
  waiter, place = found[1], found[2]
end

local function leave()
  redis.call('HDEL', record, 'waiter', 'place')
  redis.call('ZREM', line, waiter .. ' ' .. record)
  redis.call('ZREM', places, waiter .. ' ' .. record)
end

local function call_first()
  if redis.call('EXISTS', group) == 1 then return end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', places, '-inf', now)) do
    redis.call('ZREM', line, member)
    redis.call('ZREM', places, member)
  end
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  if first then redis.call('PUBLISH', first:match(' (.+)$') .. ':changed', 'turn') end
end

-- One that was granted, lost its group and has never begun has an end of its own.
if waiter == execution and to == 'failed' and not (status == 'processing' and fields[2] == execution) then
  leave()
  if status == 'pending' then redis.call('DEL', record) end
  redis.call('PUBLISH', record .. ':changed', to)
  call_first()
  return 'ok'
end

if not status or fields[2] ~= execution then return 'stale' end
-- An echo writes, too: whoever waits for replicas then waits for this.
if status == to then
  redis.call('HSET', record, 'status', to)
  return 'ok'
end
if status == 'completed' or status == 'failed' or status == 'pending' then return 'stale' end

local expires = ttl
if ttl ~= 'forever' then
  local from = fields[3]
  if to == 'unknown' then from = now end
  expires = string.format('%.0f', math.max(from + ttl, now + keep, place or 0))
end

local function expire(key)
  if ttl == 'forever' then redis.call('PERSIST', key) else redis.call('PEXPIREAT', key, expires) end
end

-- A log that lost a piece is no body.
if logged > 0 and not (open and redis.call('STRLEN', log) == logged) then
  head, body, in_log = head:gsub('true%]$', 'false]'), '', false
elseif logged > 0 and not in_log then
  body = redis.call('GET', log) .. body
end

-- What was appended, and what an unknown outcome may have come with.
if open or status == 'unknown' then
  redis.call('HDEL', record, 'head', 'body', 'logHead', 'logBytes')
  if not in_log then redis.call('DEL', log) end
end
local updated = string.format('%.0f', now)
local function write(...)
  redis.call('HSET', record, 'status', to, 'updatedAt', updated, 'expiresAt', expires, ...)
end
if in_log then
  redis.call(logged > 0 and 'APPEND' or 'SET', log, body)
  write('head', head, 'logBytes', string.format('%.0f', logged + #body))
  expire(log)
elseif head ~= '' then
  write('head', head, 'body', body)
else
  write()
end
expire(record)
if ARGV[9] and to == 'completed' and ttl ~= 'forever' then
  local kept = redis.call('HMGET', record, 'digest', 'about', 'createdAt', 'startedAt', 'attempt', 'duplicates')
  local till = string.format('%.0f', expires + ARGV[9])
  local words = { 'expired', execution, kept[3], till, kept[4] or '-', updated, kept[5] or '1', kept[6] or '0' }
  local lines = { table.concat(words, ' '), kept[1], kept[2], (head:gsub('true%]$', 'false]')) }
  redis.call('SET', KEYS[#KEYS], table.concat(lines, '\n'), 'PX', string.format('%.0f', till - now))
end
-- The record's execution is the only one that can hold its lease.
redis.call('DEL', lease)
if waiter and (to == 'completed' or waiter == execution) then leave() end
redis.call('PUBLISH', record .. ':changed', to)
if group then
  local holder = redis.call('GET', group)
  -- Of an unknown end nobody knows whether the upstream is still at it: what is left of the lease is its time to end.
  if to ~= 'unknown' and holder and holder:sub(1, #execution + 1) == execution .. ' ' then redis.call('DEL', group) end
  call_first()
end
return 'ok'
