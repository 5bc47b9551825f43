-- lock_renew: make the leases of many holds whole.
--
-- KEYS[*]  locks     hashes {owner: count}, Redisson's
-- ARGV[1]  lease_ms  length of the lease, from now
-- ARGV[*]  owners    who holds each lock, in the order of the locks
--
-- returns {1, mine, ...}  for each lock 1 when it is the owner's, else 0
--
-- Safe to repeat: a lease is set, never added to.

local locks = KEYS
local lease_ms = ARGV[1]
local owners = ARGV

local answer = {1}
for i, lock in ipairs(locks) do
  local mine = redis.pcall('HEXISTS', lock, owners[i + 1]) == 1
  if mine then redis.call('PEXPIRE', lock, lease_ms) end
  answer[i + 1] = mine and 1 or 0
end
return answer
