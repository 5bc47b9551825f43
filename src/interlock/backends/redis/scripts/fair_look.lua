-- fair_look: tell who holds the lock, for how long still, and how many wait.
--
-- KEYS[1]  lock   hash {owner: count}, Redisson's
-- KEYS[2]  queue  list of waiting owners, Redisson's
--
-- returns {1, holder, left_ms, waiting}  held; left_ms is -1 when it never expires
--         {0}                            free
--         {3, kind}                      the name is in use as something else
--
-- Safe to repeat: it changes nothing.

local lock, queue = KEYS[1], KEYS[2]

if redis.call('HEXISTS', lock, 'mode') == 1 then return {3, 'rwlock'} end
local holder = redis.call('HKEYS', lock)[1]
if not holder then return {0} end
return {1, holder, redis.call('PTTL', lock), redis.call('LLEN', queue)}
