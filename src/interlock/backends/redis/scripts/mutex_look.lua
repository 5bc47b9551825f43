-- mutex_look: tell who holds the mutex, for how long still, and how many wait.
--
-- KEYS[1]  mutex  string, the owner
-- KEYS[2]  queue  sorted set of waiting owners, by arrival
--
-- returns {1, holder, left_ms, waiting}  held; left_ms is -1 when it never expires
--         {0}                            free
--
-- Safe to repeat: it changes nothing.

local mutex, queue = KEYS[1], KEYS[2]

local holder = redis.call('GET', mutex)
if not holder then return {0} end
return {1, holder, redis.call('PTTL', mutex), redis.call('ZCARD', queue)}
