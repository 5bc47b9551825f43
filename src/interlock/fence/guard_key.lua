-- guard_key: refuse a stale token, remember the newest, and perform commands in the same step.
--
-- KEYS[1]  guard        string: the newest token that the resource has seen, in decimal digits
-- ARGV[1]  token        the token to check; compared as digits, because numbers end at 2^53 here
-- ARGV[2]  remember_ms  how long the guard stays after this; 0 for ever
-- ARGV[*]  words        of each command how many there are, then the words themselves
--
-- returns {1, ...}     the token is not stale; then what each command answered
--         {0, newest}  it is stale, and nothing was done
--
-- Safe to repeat as far as the commands are: the second time the token is equal to the newest.

local guard, token, remember_ms = KEYS[1], ARGV[1], ARGV[2]

local newest = redis.call('GET', guard)
if newest and not string.match(newest, '^%d+$') then
  return redis.error_reply('ERR ' .. guard .. ' is not a guard of Interlock: it holds no token')
end
if newest and (#newest > #token or (#newest == #token and newest > token)) then
  return {0, newest}
end
if remember_ms == '0' then
  redis.call('SET', guard, token)
else
  redis.call('SET', guard, token, 'PX', remember_ms)
end
local answer, at = {1}, 3
while at <= #ARGV do
  local last = at + ARGV[at]
  answer[#answer + 1] = redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return answer
