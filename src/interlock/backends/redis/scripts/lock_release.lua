-- lock_release: give the lock back, and hand it over to the first waiter that hears.
--
-- KEYS[1]  lock            hash {owner: count}, Redisson's
-- KEYS[2]  queue           sorted set of waiting owners, by arrival
-- ARGV[1]  owner           who gives it back
-- ARGV[2]  channel         where Redisson's waiters listen
--
-- returns {1}  released
--         {0}  the owner did not hold it; nothing was touched
--
-- Safe to repeat: the second time the owner does not hold it.

local lock, queue = KEYS[1], KEYS[2]
local owner, channel = ARGV[1], ARGV[2]
local wake, provisional_ms = 'interlock:wake:', 2000

local removed = redis.pcall('HDEL', lock, owner)
if removed ~= 1 then
  -- What is another kind of key by now is not the owner's either.
  if removed == 0 or string.find(removed.err, 'WRONGTYPE') then return {0} end
  return removed
end
-- Where Java waits too, the lock stays free for whoever comes first, so that neither side
-- starves; our first waiter is told all the same.
local shared = redis.call('PUBLISH', channel, '0') > 0
while true do
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if not head then return {1} end
  if redis.call('PUBLISH', wake .. string.match(head, '^(.*):'), head) > 0 then
    if not shared then
      redis.call('ZREM', queue, head)
      redis.call('HSET', lock, head, 1)
      redis.call('PEXPIRE', lock, provisional_ms)
    end
    return {1}
  end
  redis.call('ZREM', queue, head)
end
