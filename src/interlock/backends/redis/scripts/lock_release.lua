-- lock_release: give the lock back, or withdraw from it, and hand it over to who hears first.
--
-- KEYS[1]  lock      hash {owner: count}, Redisson's
-- KEYS[2]  queue     sorted set of waiting owners, by arrival
-- KEYS[3]  courtesy  will be there for a moment when it is Java's turn
-- KEYS[4]  turns     how many of ours have come since, one after another
-- KEYS[5]  tomb      of a withdrawal, else not looked at: it will be there for a while, so that a late
--                    question is refused
-- ARGV[1]  owner     who gives it back, or is withdrawn
-- ARGV[2]  channel   where Redisson's waiters listen
-- ARGV[3]  patience  how many of ours may come before it is Java's turn again
-- ARGV[4]  tomb_ms   of a withdrawal: how long the owner stays refused
-- ARGV[5]  reason    of a withdrawal: why, for its holder to read; may be empty
--
-- returns {1}  it held the lock, which was released
--         {0}  it did not hold the lock; a release has touched nothing
--
-- Safe to repeat: the second time the owner neither holds nor waits, and its tomb is set again.

local lock, queue, courtesy, turns, tomb = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, channel, patience, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local wake, provisional_ms = 'interlock:wake:', 2000

if tomb_ms then
  redis.call('ZREM', queue, owner) -- first: a script that has written is not stopped by maxmemory
  redis.call('SET', tomb, reason, 'PX', tomb_ms)
end
local removed = redis.pcall('HDEL', lock, owner)
if removed ~= 1 then
  -- What is another kind of key by now is not the owner's either.
  if removed == 0 or string.find(removed.err, 'WRONGTYPE') then return {0} end
  return removed
end
-- Such a number is of an election, of which observers hear.
if string.find(owner, '10$') then redis.call('PUBLISH', wake .. 'election:' .. lock, '') end
-- Where Java waits too, ours and Java's take turns: ours come one after another, as many as
-- Java has been seen to take, and then the lock stays free, for a moment for Java alone.
local java = redis.call('PUBLISH', channel, '0') > 0
local yields = java and redis.call('INCR', turns) >= tonumber(patience)
if java then redis.call('PEXPIRE', turns, 1000) end
if yields then
  redis.call('DEL', turns)
  redis.call('SET', courtesy, 1, 'PX', 5)
end
while true do
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if not head and java and not yields then
    -- It is the turn of ours, and one of them is often back at once.
    redis.call('HSET', lock, (string.gsub(owner, ':%d-([1-9]0*)$', ':0%1')), 1)
    redis.call('PEXPIRE', lock, 2)
  end
  if not head then return {1} end
  if redis.call('PUBLISH', wake .. string.match(head, '^(.*):'), head) > 0 then
    if not yields then
      redis.call('ZREM', queue, head)
      redis.call('HSET', lock, head, 1)
      redis.call('PEXPIRE', lock, provisional_ms)
    end
    return {1}
  end
  redis.call('ZREM', queue, head)
end
