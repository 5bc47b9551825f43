-- mutex_release: give the mutex back, and hand it over to the first waiter that hears.
--
-- KEYS[1]  mutex           string, the owner
-- KEYS[2]  queue           sorted set of waiting owners, by arrival
-- ARGV[1]  owner           who gives it back
--
-- returns {1}  released
--         {0}  the owner did not hold it; nothing was touched
--
-- Safe to repeat: the second time the owner does not hold it.

local mutex, queue = KEYS[1], KEYS[2]
local owner = ARGV[1]
local wake, provisional_ms = 'interlock:wake:', 2000

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
