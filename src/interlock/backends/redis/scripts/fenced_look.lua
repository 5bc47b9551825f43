-- fenced_look: tell who holds the lock, for how long still, how many wait, and its token.
--
-- KEYS[1]  lock     hash {owner: count}, Redisson's
-- KEYS[2]  queue    sorted set of waiting owners, by arrival
-- KEYS[3]  counter  the last fencing token of this name, Redisson's
--
-- returns {1, holder, left_ms, waiting, token}  held; left_ms is -1 when it never expires
--         {0}                                   free
--         {3, kind}                             the name is in use as something else
--
-- Safe to repeat: it changes nothing.

local lock, queue, counter = KEYS[1], KEYS[2], KEYS[3]

if redis.call('HEXISTS', lock, 'mode') == 1 then return {3, 'rwlock'} end
local holder = redis.call('HKEYS', lock)[1]
if not holder then return {0} end
local token = redis.call('GET', counter) or '0'
return {1, holder, redis.call('PTTL', lock), redis.call('ZCARD', queue), token}
