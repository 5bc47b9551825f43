-- quorum_rw_downgrade: make a writer a reader on this node.
--
-- KEYS[1]  lock      hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  hold      string, there while this owner reads, with the attempt in it
-- ARGV[1]  owner     who writes
-- ARGV[2]  lease_ms  length of the lease, from now
-- ARGV[3]  attempt   number of the question; greater than those of the owner's attempts
-- ARGV[4]  channel   where those listen who wait for the lock
--
-- returns {1}  it is a reader
--         {0}  it did not hold anything; nothing was touched
--
-- Safe to repeat: it is a reader already, and its lease is set again.

local lock, hold = KEYS[1], KEYS[2]
local owner, lease_ms, attempt, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local call = redis.call

local wrote = redis.pcall('HDEL', lock, owner .. ':write') == 1
local reads = redis.pcall('HEXISTS', lock, owner) == 1 and call('EXISTS', hold) == 1
if not wrote and not reads then return {0} end
local number = math.max(tonumber(attempt), tonumber(call('GET', hold) or 0))
call('HSET', lock, 'mode', 'read', owner, 1)
call('SET', hold, number, 'PX', lease_ms)
if wrote or call('PTTL', lock) < tonumber(lease_ms) then call('PEXPIRE', lock, lease_ms) end
if wrote then call('PUBLISH', channel, '1') end
return {1}
