-- lock_look: tell who holds the lock, for how long still, how many wait, and its token.
--
-- KEYS[1]  lock     hash {owner: count}, Redisson's
-- KEYS[2]  queue    sorted set of waiting owners, by arrival; of a fair lock a list, Redisson's
-- KEYS[3]  counter  of a fenced lock, else left out: the last fencing token of its name, Redisson's
-- ARGV[1]  fair     1 for a fair lock, else left out
--
-- returns {1, holder, left_ms, waiting, token}  held; left_ms is -1 when it never expires;
--                                               token is empty when there is no counter
--         {0}                                   free
--         {3, kind}                             the name is in use as something else
--
-- Safe to repeat: it changes nothing.

local lock, queue, counter = KEYS[1], KEYS[2], KEYS[3]
local fair = ARGV[1]

if redis.call('HEXISTS', lock, 'mode') == 1 then return {3, 'rwlock'} end
local holder = redis.call('HKEYS', lock)[1]
if not holder then return {0} end
local waiting = fair and redis.call('LLEN', queue) or redis.call('ZCARD', queue)
local token = counter and redis.call('GET', counter) or ''
return {1, holder, redis.call('PTTL', lock), waiting, token}
