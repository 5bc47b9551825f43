-- rwlock_renew: make the leases of many holds whole, of readers and of writers.
--
-- KEYS[*]  locks     for each hold two keys: the hash {mode, owner: count, owner:write: count},
--                    and the string that is there while its owner reads, both Redisson's
-- ARGV[1]  lease_ms  length of the lease, from now
-- ARGV[*]  owners    whose holds they are, in the order of the locks
--
-- returns {1, mine, ...}  for each hold 1 when it is the owner's, else 0
--
-- Safe to repeat: a lease is set, never added to.

local locks = KEYS
local lease_ms = ARGV[1]
local owners = ARGV

local answer = {1}
for i = 2, #owners do
  local lock, hold, owner = locks[2 * i - 3], locks[2 * i - 2], owners[i]
  local writes = redis.pcall('HEXISTS', lock, owner .. ':write') == 1
  local reads = not writes and redis.pcall('HEXISTS', lock, owner) == 1
  -- The lease of a reader is its own: what others have is never cut short.
  reads = reads and redis.call('PEXPIRE', hold, lease_ms) == 1
  if writes or reads and redis.call('PTTL', lock) < tonumber(lease_ms) then
    redis.call('PEXPIRE', lock, lease_ms)
  end
  answer[i] = (writes or reads) and 1 or 0
end
return answer
