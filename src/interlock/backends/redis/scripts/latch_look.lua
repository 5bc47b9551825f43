-- latch_look: tell how many are still to be counted down, and how many clients wait.
--
-- KEYS[1]  latch    string, how many are still to be counted down, Redisson's
-- KEYS[2]  marker   string, what the name is
-- KEYS[3]  shares   there when the name is a semaphore
-- KEYS[4]  leases   there when the name is a leased semaphore
-- ARGV[1]  channel  where all that wait listen
--
-- returns {1, left, waiting}  it counts
--         {0}                 it is down, or was never set
--         {3, kind}           the name is in use as something else
--
-- Safe to repeat: it changes nothing.

local latch, marker, shares, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel = ARGV[1]

local value = redis.call('GET', latch)
local is = value and redis.call('GET', marker)
if not is and redis.call('EXISTS', leases) == 1 then is = 'leased_semaphore' end
if not is and redis.call('EXISTS', shares) == 1 then is = 'semaphore' end
if value and not string.find(value, '^-?%d+$') then is = 'mutex' end
if is and is ~= 'latch' then return {3, string.match(is, '^%S+')} end
if not value then return {0} end
return {1, tonumber(value), redis.call('PUBSUB', 'NUMSUB', channel)[2]}
