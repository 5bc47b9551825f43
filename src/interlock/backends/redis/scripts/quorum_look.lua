-- quorum_look: tell who has the vote of this node, for how long still, and its token.
--
-- KEYS[1]  lock    as `layout` says
-- KEYS[2]  beside  hash {token: the last one, attempt: that of the grant}
-- ARGV[1]  layout  hash, which is Redisson's {owner: count}, or string, the owner
--
-- returns {1, holder, left_ms, token}  held; left_ms is -1 when it never expires, and the token
--                                      empty when another program has taken it
--         {0}                          free
--
-- Safe to repeat: it changes nothing.

local lock, beside = KEYS[1], KEYS[2]
local layout = ARGV[1]

local holder
if layout == 'hash' then holder = redis.call('HKEYS', lock)[1] else holder = redis.call('GET', lock) end
if not holder then return {0} end
return {1, holder, redis.call('PTTL', lock), redis.call('HGET', beside, 'token') or ''}
