-- mutex_renew: make the leases of many holds whole.
--
-- KEYS[*]  mutexes   strings, the owners
-- ARGV[1]  lease_ms  length of the lease, from now
-- ARGV[*]  owners    who holds each mutex, in the order of the mutexes
--
-- returns {1, mine, ...}  for each mutex 1 when it is the owner's, else 0
--
-- Safe to repeat: a lease is set, never added to.

local mutexes = KEYS
local lease_ms = ARGV[1]
local owners = ARGV

local answer = {1}
for i, mutex in ipairs(mutexes) do
  local mine = redis.pcall('GET', mutex) == owners[i + 1]
  if mine then redis.call('PEXPIRE', mutex, lease_ms) end
  answer[i + 1] = mine and 1 or 0
end
return answer
