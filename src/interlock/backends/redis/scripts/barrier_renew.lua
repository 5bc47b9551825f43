-- barrier_renew: make the leases of many parties whole.
--
-- KEYS[*]  places    for each party two keys: the barrier and its marker
-- ARGV[1]  lease_ms  length of the lease, from now
-- ARGV[*]  owners    who is inside, in the order of the barriers
--
-- returns {1, mine, ...}  for each 1 when it is still inside, else 0
--
-- Safe to repeat: a lease is set, never added to.

local places = KEYS
local lease_ms = ARGV[1]
local owners = ARGV
local call = redis.call

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {1}
-- First: a script that has written is not stopped by maxmemory, and ZADD would be.
redis.pcall('ZREM', places[1], '')
for i = 1, #places / 2 do
  local barrier, marker, owner = places[2 * i - 1], places[2 * i], owners[i + 1]
  local ends = redis.pcall('ZSCORE', barrier, owner)
  local mine = type(ends) == 'string' and tonumber(ends) > now
  if mine then
    call('ZADD', barrier, now + lease_ms, owner)
    for _, key in ipairs({barrier, marker}) do
      if call('PTTL', key) < tonumber(lease_ms) then call('PEXPIRE', key, lease_ms) end
    end
  end
  answer[i + 1] = mine and 1 or 0
end
return answer
