-- lock_release: give the lock back, and hand it over to the first waiter that hears.
--
-- KEYS[1]  lock            hash {owner: count}, Redisson's
-- KEYS[2]  queue           sorted set of waiting owners, by arrival
-- KEYS[3]  courtesy        will be there for a moment when it is Java's turn
-- KEYS[4]  turns           how many of ours have come since, one after another
-- ARGV[1]  owner           who gives it back
-- ARGV[2]  channel         where Redisson's waiters listen
-- ARGV[3]  patience        how many of ours may come before it is Java's turn again
--
-- returns {1}  released
--         {0}  the owner did not hold it; nothing was touched
--
-- Safe to repeat: the second time the owner does not hold it.

local lock, queue, courtesy, turns = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, channel, patience = ARGV[1], ARGV[2], ARGV[3]
local wake, provisional_ms = 'interlock:wake:', 2000

local removed = redis.pcall('HDEL', lock, owner)
if removed ~= 1 then
  -- What is another kind of key by now is not the owner's either.
  if removed == 0 or string.find(removed.err, 'WRONGTYPE') then return {0} end
  return removed
end
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
    redis.call('HSET', lock, (string.gsub(owner, ':%d*(%d)$', ':0%1')), 1)
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
