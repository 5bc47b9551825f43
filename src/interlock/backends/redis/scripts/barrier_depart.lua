-- barrier_depart: let a party go when all are done, or remember that it is done and waits.
--
-- KEYS[1]  barrier   sorted set of the parties that gather or are inside, by the end of their leases
-- KEYS[2]  done      the same of those that have done what they came for; it expires
-- KEYS[3]  marker    string, what the name is
-- KEYS[4]  queue     sorted set of the parties that wait for the next time
-- ARGV[1]  owner     who wants to leave
-- ARGV[2]  lease_ms  how long it is remembered that it waits
--
-- returns {1, 1}                all are done
--         {1, 0}                the owner is not there any more
--         {0, inside, left_ms}  who is still inside, and when the first would be gone
--
-- Safe to repeat: a party that is done stays so until all are.

local barrier, done, marker, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease_ms = ARGV[1], ARGV[2]
local wake, call = 'interlock:wake:', redis.call

local kind = call('TYPE', barrier).ok
if kind ~= 'zset' and kind ~= 'none' then return {1, 0} end -- the name has become something else
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
call('ZREMRANGEBYSCORE', barrier, '-inf', now)
call('ZREMRANGEBYSCORE', done, '-inf', now)
local was = call('ZREM', barrier, owner) + call('ZREM', done, owner)
if was == 0 then return {1, 0} end
local first = call('ZRANGE', barrier, 0, 0, 'WITHSCORES')
if not first[1] then
  for _, place in ipairs({done, queue}) do
    for _, each in ipairs(call('ZRANGE', place, 0, -1)) do
      call('PUBLISH', wake .. string.match(each, '^(.*):'), each)
    end
  end
  call('DEL', done, marker, queue)
elseif string.find(call('GET', marker) or '', ' open$') then
  call('ZADD', done, now + lease_ms, owner)
  if call('PTTL', done) < tonumber(lease_ms) then call('PEXPIRE', done, lease_ms) end
  return {0, first[1], first[2] - now}
end
return {1, 1}
