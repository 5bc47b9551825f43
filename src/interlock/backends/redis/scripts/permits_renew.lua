-- permits_renew: make the leases of many holds whole.
--
-- KEYS[*]  holders   sorted sets of what is held, by the end of its lease in ms
-- ARGV[1]  lease_ms  length of the lease, from now
-- ARGV[*]  shares    what is held of each, in the order of the holders
--
-- returns {1, mine, ...}  for each 1 when it is still held, else 0
--
-- Safe to repeat: a lease is set, never added to, and no permits move.

local holders = KEYS
local lease_ms = ARGV[1]
local shares = ARGV

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {1}
-- First: a script that has written is not stopped by maxmemory, and ZADD would be.
redis.pcall('ZREM', holders[1], '')
for i, each in ipairs(holders) do
  local ends = redis.pcall('ZSCORE', each, shares[i + 1])
  -- What has ended is over, though no client has taken it back yet.
  local mine = type(ends) == 'string' and tonumber(ends) > now
  if mine then redis.call('ZADD', each, now + lease_ms, shares[i + 1]) end
  answer[i + 1] = mine and 1 or 0
end
return answer
