-- quorum_rw_raise: let the counter of a name be at least as far as the token of one of its holders.
--
-- KEYS[1]  lock    hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  beside  hash {token: the last one, attempt: that of the last writer}; it expires
-- KEYS[3]  hold    string, there while this owner reads
-- ARGV[1]  owner   who asks
-- ARGV[2]  token   the token that the owner is to have
--
-- returns {1, token}  the owner reads or writes, and the counter is this far
--         {0}         it does neither; nothing was touched
--
-- Safe to repeat: a counter is set, never added to, and never set back.

local lock, beside, hold = KEYS[1], KEYS[2], KEYS[3]
local owner, token = ARGV[1], ARGV[2]

local writes = redis.call('HEXISTS', lock, owner .. ':write') == 1
local reads = redis.call('HEXISTS', lock, owner) == 1 and redis.call('EXISTS', hold) == 1
if not writes and not reads then return {0} end
local last = redis.call('HGET', beside, 'token') or '0'
if tonumber(last) >= tonumber(token) then return {1, last} end
redis.call('HSET', beside, 'token', token)
return {1, token}
