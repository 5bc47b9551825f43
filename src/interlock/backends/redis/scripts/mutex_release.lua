-- mutex_release: give the mutex back, or withdraw from it, and hand it over to who hears first.
--
-- KEYS[1]  mutex    string, the owner
-- KEYS[2]  queue    sorted set of waiting owners, by arrival
-- KEYS[3]  tomb     of a withdrawal, else not looked at: it will be there for a while, so that a late
--                   question is refused
-- ARGV[1]  owner    who gives it back, or is withdrawn
-- ARGV[2]  tomb_ms  of a withdrawal: how long the owner stays refused
-- ARGV[3]  reason   of a withdrawal: why, for its holder to read; may be empty
--
-- returns {1}  it held the mutex, which was released
--         {0}  it did not hold the mutex; a release has touched nothing
--
-- Safe to repeat: the second time the owner neither holds nor waits, and its tomb is set again.

local mutex, queue, tomb = KEYS[1], KEYS[2], KEYS[3]
local owner, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3]
local wake, provisional_ms = 'interlock:wake:', 2000

if tomb_ms then
  redis.call('ZREM', queue, owner) -- first: a script that has written is not stopped by maxmemory
  redis.call('SET', tomb, reason, 'PX', tomb_ms)
end
-- What is another kind of key by now is not the owner's either.
if redis.pcall('GET', mutex) ~= owner then return {0} end
redis.call('DEL', mutex)
while true do
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if not head then return {1} end
  redis.call('ZREM', queue, head)
  if redis.call('PUBLISH', wake .. string.match(head, '^(.*):'), head) > 0 then
    redis.call('SET', mutex, head, 'PX', provisional_ms)
    return {1}
  end
end
