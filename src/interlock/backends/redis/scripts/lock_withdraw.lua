-- lock_withdraw: remove every trace of an owner, and refuse it from now on.
--
-- KEYS[1]  lock            hash {owner: count}, Redisson's
-- KEYS[2]  queue           sorted set of waiting owners, by arrival
-- KEYS[3]  tomb            will be there for a while, so that a late question is refused
-- ARGV[1]  owner           who is withdrawn
-- ARGV[2]  channel         where Redisson's waiters listen
-- ARGV[3]  tomb_ms         how long the owner stays refused
-- ARGV[4]  reason          why, for its holder to read; may be empty
--
-- returns {1}  it held the lock, which was released
--         {0}  it did not hold the lock
--
-- Safe to repeat: nothing is left to remove, and the tomb is set again.

local lock, queue, tomb = KEYS[1], KEYS[2], KEYS[3]
local owner, channel, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wake, provisional_ms = 'interlock:wake:', 2000

redis.call('ZREM', queue, owner) -- first: a script that has written is not stopped by maxmemory
redis.call('SET', tomb, reason, 'PX', tomb_ms)
local removed = redis.pcall('HDEL', lock, owner)
if removed ~= 1 then
  -- What is another kind of key by now has nothing of the owner's in it.
  if removed == 0 or string.find(removed.err, 'WRONGTYPE') then return {0} end
  return removed
end
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
