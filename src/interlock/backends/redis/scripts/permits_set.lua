-- permits_set: say how many permits there are in all, now or the first time.
--
-- KEYS[1]  permits  string, how many are free, Redisson's
-- KEYS[2]  holders  sorted set of what is held: see permits_attempt
-- KEYS[3]  others   what would be the holders if the name were the other kind of semaphore
-- KEYS[4]  marker   string, the kind, and how many permits there are in all
-- ARGV[1]  kind     semaphore or leased_semaphore
-- ARGV[2]  total    how many there are to be; empty when the client does not say
-- ARGV[3]  first    1 when it counts only where no permits are set yet
-- ARGV[4]  channel  where Redisson's waiters listen
--
-- returns {1}        so it is, or it was set before
--         {3, kind}  the name is in use as something else
--         {4}        no permits are set, and the client does not say how many
--
-- Safe to repeat: what is added is the difference to what was said before, so nothing.

local permits, holders, others, marker = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local kind, total, first, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local call, leased = redis.call, kind == 'leased_semaphore'
local other = leased and 'semaphore' or 'leased_semaphore'

local value = call('GET', permits)
local is, before = string.match(value and call('GET', marker) or '', '^(%S+) ?(%d*)$')
if not is and call('EXISTS', others) == 1 then is = other end
if value and not string.find(value, '^-?%d+$') then is = 'mutex' end
if is and is ~= kind then return {3, is} end
if first == '1' and value then return {1} end
if total == '' then return {4} end
local free, held = tonumber(value) or 0, 0
for _, each in ipairs(call('ZRANGE', holders, 0, -1)) do
  held = held + (leased and 1 or tonumber(string.match(each, '%d+$')))
end
-- Without a marker all that is known of is what is free and what we hold.
free = free + total - (tonumber(before) or free + held)
call('SET', permits, free, 'KEEPTTL')
call('SET', marker, kind .. ' ' .. total)
if free > 0 then call('PUBLISH', channel, free) end
return {1}
