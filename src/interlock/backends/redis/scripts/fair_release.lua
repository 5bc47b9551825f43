-- fair_release: give the lock back, or withdraw from it altogether, and let the next one have it.
--
-- KEYS[1]  lock      hash {owner: count}, Redisson's
-- KEYS[2]  queue     list of waiting owners, Redisson's; the head is next
-- KEYS[3]  scores    sorted set, Redisson's: from when on a waiter counts as dead, in ms
-- KEYS[4]  seen      sorted set of our waiters: until when each counts as alive
-- KEYS[5]  tomb      of a withdrawal: there for a while, so that a late question is refused
-- ARGV[1]  owner     who gives it back
-- ARGV[2]  wait_ms   how long the owner meant to wait
-- ARGV[3]  channels  what the names of Java's channels start with, one for each waiter
-- ARGV[4]  tomb_ms   how long a withdrawn owner stays refused; 0 for a release
-- ARGV[5]  reason    why it is withdrawn, for its holder to read; may be empty
--
-- returns {1}  it held the lock, which was released
--         {0}  it did not hold the lock
--
-- Safe to repeat: the second time the owner neither holds nor waits; the tomb is set again, and
-- a head that has not taken the lock yet hears of it once more.

local lock, queue, scores, seen, tomb = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, wait_ms, channels, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local wake, provisional_ms = 'interlock:wake:', 2000

local call = redis.call
if tomb_ms ~= '0' then
  call('ZREM', seen, owner) -- first: a script that has written is not stopped by maxmemory
  call('ZREM', scores, owner)
  local place = call('LPOS', queue, owner)
  -- Those behind need not wait for this one's time any more.
  for _, behind in ipairs(place and call('LRANGE', queue, place + 1, -1) or {}) do
    call('ZADD', scores, 'XX', 'INCR', '-' .. wait_ms, behind)
  end
  call('LREM', queue, 0, owner)
  call('SET', tomb, reason, 'PX', tomb_ms)
end
local removed = redis.pcall('HDEL', lock, owner)
if type(removed) == 'table' then
  -- What is another kind of key by now has nothing of the owner's in it.
  return string.find(removed.err, 'WRONGTYPE') and {0} or removed
end
if call('EXISTS', lock) == 1 then return {removed} end
-- It is free, though perhaps not by this owner.  Java's waiters take it themselves; to one of
-- ours it is handed over, which keeps its place until it asks.  The dead give way, as in
-- fair_attempt.
local time, head = call('TIME'), call('LINDEX', queue, 0)
local now = time[1] * 1000 + math.floor(time[2] / 1000)
while head do
  local ours = string.match(head, '^(%x+%-%x+%-8.*):')
  local limit = tonumber(call('ZSCORE', ours and seen or scores, head) or 0)
  if limit > now and not ours then
    call('PUBLISH', channels .. head, '0')
    break
  elseif limit > now and call('PUBLISH', wake .. ours, head) > 0 then
    call('HSET', lock, head, 1)
    call('PEXPIRE', lock, provisional_ms)
    break
  end
  call('ZREM', scores, call('LPOP', queue))
  call('ZREM', seen, head)
  head = call('LINDEX', queue, 0)
end
return {removed}
