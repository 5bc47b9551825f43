-- latch_count: count one down, once for each owner, and open the latch at zero.
--
-- KEYS[1]  latch    string, how many are still to be counted down, Redisson's
-- KEYS[2]  marker   string, what the name is
-- KEYS[3]  shares   there when the name is a semaphore
-- KEYS[4]  leases   there when the name is a leased semaphore
-- KEYS[5]  tomb     there when this owner has counted
-- ARGV[1]  channel  where all that wait listen
-- ARGV[2]  tomb_ms  how long it is remembered that the owner has counted
--
-- returns {1, left}  so many are left
--         {3, kind}  the name is in use as something else
--
-- Safe to repeat: an owner that has counted already counts no more.

local latch, marker, shares, leases, tomb = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local channel, tomb_ms = ARGV[1], ARGV[2]

local value = redis.call('GET', latch)
local is = value and redis.call('GET', marker)
if not is and redis.call('EXISTS', leases) == 1 then is = 'leased_semaphore' end
if not is and redis.call('EXISTS', shares) == 1 then is = 'semaphore' end
if value and not string.find(value, '^-?%d+$') then is = 'mutex' end
if is and is ~= 'latch' then return {3, string.match(is, '^%S+')} end
local left = tonumber(value) or 0
redis.call('ZREM', shares, '') -- first: a script that has written is not stopped by maxmemory
if redis.call('SET', tomb, '', 'NX', 'PX', tomb_ms) and value then
  left = redis.call('DECR', latch)
  if left <= 0 then redis.call('DEL', latch, marker) end
  if left == 0 then redis.call('PUBLISH', channel, '0') end
end
return {1, math.max(left, 0)}
