-- append: adds a piece to the log of a running execution's answer.
--
-- KEYS  1 the record (hash)   2 its lease (string: the execution that holds it)   3 its log (string: the body so far)
-- ARGV  1 execution  2 offset: how many bytes came before  3 the piece  4 head of the answer, with the first piece, or ''
--       5 'overflow': the answer is over its limit and its log is dropped, or ''
-- Returns  'ok' | 'stale'
--
-- Closes the race between looking at the log's length and adding to it: a piece sent twice is there once, and none is
-- added after a gap, after a later execution was granted, or to a log that was evicted.
local record, log = KEYS[1], KEYS[3]
local offset, piece, overflow = tonumber(ARGV[2]), ARGV[3], ARGV[5] == 'overflow'

local fields = redis.call('HMGET', record, 'status', 'execution', 'logHead', 'expiresAt')
local open, expires = fields[3], fields[4]
if fields[1] ~= 'processing' or fields[2] ~= ARGV[1] then return 'stale' end
local head = open or ARGV[4]
-- An open log whose head is empty is one that was dropped.
if head == '' then return open and overflow and 'ok' or 'stale' end

if overflow then
  redis.call('HSET', record, 'logHead', '')
  redis.call('DEL', log)
elseif open then
  local length = redis.call('STRLEN', log)
  if length == 0 and redis.call('EXISTS', log) == 0 then return 'stale' end
  -- An echo writes, too: whoever waits for replicas then waits for this.
  if length >= offset + #piece then
    redis.call('HSET', record, 'logHead', head)
    return 'ok'
  end
  if length ~= offset then return 'stale' end
  redis.call('APPEND', log, piece)
else
  if offset ~= 0 then return 'stale' end
  redis.call('HSET', record, 'logHead', head)
  -- Whatever is there is an evicted record's.
  redis.call('SET', log, piece)
  if expires ~= 'forever' then redis.call('PEXPIREAT', log, expires) end
end
redis.call('PUBLISH', record .. ':changed', 'appended')
return 'ok'
