-- latch_open: let all go that wait for a latch, whatever its count.
--
-- KEYS[1]  latch    string, how many are still to be counted down, Redisson's
-- KEYS[2]  marker   string, what the name is
-- KEYS[3]  shares   there when the name is a semaphore
-- KEYS[4]  leases   there when the name is a leased semaphore
-- ARGV[1]  channel  where all that wait listen
--
-- returns {1}  it is open
--         {0}  it was not a latch that counts; nothing was touched
--
-- Safe to repeat: it is open already.

local latch, marker, shares, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel = ARGV[1]

local value = redis.call('GET', latch)
if not value or not string.find(value, '^-?%d+$') then return {0} end
if (redis.call('GET', marker) or 'latch') ~= 'latch' then return {0} end
if redis.call('EXISTS', shares, leases) > 0 then return {0} end
redis.call('DEL', latch, marker)
redis.call('PUBLISH', channel, '0')
return {1}
