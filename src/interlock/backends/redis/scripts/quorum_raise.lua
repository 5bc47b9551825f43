-- quorum_raise: let the counter of a name be at least as far as the token of its holder.
--
-- KEYS[1]  lock    as `layout` says
-- KEYS[2]  beside  hash {token: the last one, attempt: that of the grant}; it expires
-- ARGV[1]  owner   who asks
-- ARGV[2]  layout  hash, which is Redisson's {owner: count}, or string, the owner
-- ARGV[3]  token   the token that the owner is to have
--
-- returns {1, token}  the owner holds, and the counter is this far
--         {0}         it does not hold; nothing was touched
--
-- Safe to repeat: a counter is set, never added to, and never set back.

local lock, beside = KEYS[1], KEYS[2]
local owner, layout, token = ARGV[1], ARGV[2], ARGV[3]

local holder
if layout == 'hash' then holder = redis.call('HKEYS', lock)[1] else holder = redis.call('GET', lock) end
if holder ~= owner then return {0} end
local last = redis.call('HGET', beside, 'token') or '0'
if tonumber(last) >= tonumber(token) then return {1, last} end
redis.call('HSET', beside, 'token', token)
return {1, token}
