-- barrier_look: tell who is at a barrier, what each party does, and how many wait for the next time.
--
-- KEYS[1]  barrier  sorted set of the parties that gather or are inside, by the end of their leases
-- KEYS[2]  done     the same of those that have done what they came for
-- KEYS[3]  marker   string, 'barrier', how many parties, and 'open' when they are inside
-- KEYS[4]  queue    sorted set of the parties that wait for the next time
--
-- returns {1, parties, waiting, owner, stage, left_ms, ...}  for each party its owner, 0 when it
--                                                            gathers, 1 inside, 2 done, and the
--                                                            rest of its lease
--         {0}                                                no party is there
--
-- Safe to repeat: it changes nothing.

local barrier, done, marker, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local call = redis.call

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local said = call('GET', marker) or ''
local stage = string.find(said, ' open$') and 1 or 0
local answer = {1, tonumber(string.match(said, '%d+')) or 0, call('ZCARD', queue)}
for _, place in ipairs({barrier, done}) do
  local found = call('ZRANGEBYSCORE', place, '(' .. now, '+inf', 'WITHSCORES')
  for i = 1, #found, 2 do
    answer[#answer + 1] = found[i]
    answer[#answer + 1] = place == done and 2 or stage
    answer[#answer + 1] = found[i + 1] - now
  end
end
return #answer == 3 and {0} or answer
