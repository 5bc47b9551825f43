-- permits_look: tell how many permits there are, how many are free, and who holds the others.
--
-- KEYS[1]  permits  string, how many are free, Redisson's
-- KEYS[2]  holders  sorted set of what is held, by the end of its lease in ms: see permits_attempt
-- KEYS[3]  others   what would be the holders if the name were the other kind of semaphore
-- KEYS[4]  marker   string, the kind, and how many permits there are in all
-- KEYS[5]  queue    sorted set of waiters, by arrival
-- ARGV[1]  kind     semaphore or leased_semaphore
--
-- returns {1, free, total, waiting, share, left_ms, ...}  total is -1 when it is not known
--         {0}                                             no permits are set
--         {3, kind}                                       the name is in use as something else
--
-- Safe to repeat: it changes nothing.

local permits, holders, others, marker, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local kind = ARGV[1]
local call, time, leased = redis.call, redis.call('TIME'), kind == 'leased_semaphore'
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local other = leased and 'semaphore' or 'leased_semaphore'

local value = call('GET', permits)
local is, total = string.match(value and call('GET', marker) or '', '^(%S+) ?(%d*)$')
if not is and call('EXISTS', others) == 1 then is = other end
if value and not string.find(value, '^-?%d+$') then is = 'mutex' end
if is and is ~= kind then return {3, is} end
local held = call('ZRANGE', holders, 0, -1, 'WITHSCORES')
if not value and #held == 0 then return {0} end
local free = tonumber(value) or 0
total = tonumber(total) or leased and free + #held / 2 or -1
local answer = {1, free, total, call('ZCARD', queue)}
for i = 1, #held, 2 do
  local left_ms = held[i + 1] - now
  if left_ms > 0 then
    table.insert(answer, held[i])
    table.insert(answer, left_ms)
  else -- what has ended is free, though no client has taken it back yet
    answer[2] = answer[2] + (leased and 1 or tonumber(string.match(held[i], '%d+$')))
  end
end
return answer
