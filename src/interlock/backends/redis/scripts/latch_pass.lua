-- latch_pass: let a waiter pass if the latch is down.
--
-- KEYS[1]  latch   string, how many are still to be counted down, Redisson's
-- KEYS[2]  marker  string, what the name is
-- KEYS[3]  shares  there when the name is a semaphore
-- KEYS[4]  leases  there when the name is a leased semaphore
-- KEYS[5]  tokens  the last fencing token of this node
--
-- returns {1, token}  it is down
--         {0}         it is not
--         {3, kind}   the name is in use as something else
--
-- Safe to repeat: it is a question, answered anew, and no waiter is remembered.

local latch, marker, shares, leases, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local value, made = redis.call('GET', latch), redis.call('GET', marker)
local is = value and made
if not is and redis.call('EXISTS', leases) == 1 then is = 'leased_semaphore' end
if not is and redis.call('EXISTS', shares) == 1 then is = 'semaphore' end
if value and not string.find(value, '^-?%d+$') then is = 'mutex' end
if is and is ~= 'latch' then return {3, string.match(is, '^%S+')} end
if value and tonumber(value) > 0 then return {0} end

local time = redis.call('TIME')
local micros, last = time[1] * 1000000 + time[2], redis.call('GET', tokens) or 0
local token = string.format('%.0f', math.max(micros, last + 1))
redis.call('SET', tokens, token)
-- Java knows of no marker, and leaves it behind when it counts to zero.
if not value and made == 'latch' then redis.call('DEL', marker) end
return {1, token}
