-- election_tell: tell observers that another leads, and what it calls itself.
--
-- KEYS[1]  lock      hash {owner: count}, Redisson's
-- KEYS[2]  leader    string, the owner that leads and what it calls itself; it expires
-- ARGV[1]  owner     who may lead
-- ARGV[2]  called    what it calls itself; may be empty
-- ARGV[3]  lease_ms  how long it leads, unless it is told again
--
-- returns {1}  it leads
--         {0}  it does not
--
-- Safe to repeat: who is known to lead is told to no observer again.

local lock, leader = KEYS[1], KEYS[2]
local owner, called, lease_ms = ARGV[1], ARGV[2], ARGV[3]
local wake = 'interlock:wake:'

if redis.pcall('HEXISTS', lock, owner) ~= 1 then return {0} end
local words = owner .. ' ' .. called
if redis.call('SET', leader, words, 'PX', lease_ms, 'GET') ~= words then
  redis.call('PUBLISH', wake .. 'election:' .. lock, owner)
end
return {1}
