-- barrier_attempt: let a party in when all are there, or remember that one is there and waits.
--
-- KEYS[1]  barrier   sorted set of the parties that gather or are inside, by the end of their leases
--                    in ms; it expires
-- KEYS[2]  done      the same of those that have done what they came for, and wait for the others
-- KEYS[3]  marker    string, 'barrier', how many parties, and 'open' when they are inside; it expires
-- KEYS[4]  queue     sorted set of the parties that wait for the next time, by arrival; it expires
-- KEYS[5]  tomb      there when this owner was withdrawn
-- KEYS[6]  tokens    the last fencing token of this node
-- ARGV[1]  owner     who asks
-- ARGV[2]  lease_ms  length of the lease inside
-- ARGV[3]  waits     1 when the owner listens and is to be remembered
-- ARGV[4]  parties   how many there have to be
--
-- returns {1, token}            all are there
--         {0, inside, left_ms}  not yet; who is inside, if any is, and when the first would be gone
--         {2}                   this owner is buried
--         {5}                   those inside have died, and none has said so: that comes first
--         {6, parties}          the others say another number
--
-- Safe to repeat: a party that is inside is let in again, with a newer token, and one that gathers
-- is there once.

local barrier, done, marker, queue, tomb, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, lease_ms, waits, parties = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wake, presence_ms, call = 'interlock:wake:', 10000, redis.call

if call('EXISTS', tomb) == 1 then return {2} end
local time = call('TIME')
local now, micros = time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
call('ZREMRANGEBYSCORE', barrier, '-inf', now)
local mine, there = call('ZSCORE', barrier, owner), call('ZCARD', barrier)
local said = there > 0 and call('GET', marker) or ''
local number, open = string.match(said, '%d+') or parties, string.find(said, ' open$')
if there == 0 and call('EXISTS', done, queue) > 0 then return {5} end
if number ~= parties then return {6, tonumber(number)} end
if open and not mine then
  if waits == '1' and not call('ZSCORE', done, owner) then
    local last = call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0
    call('ZADD', queue, 'NX', math.max(micros, last + 1), owner)
    call('PEXPIRE', queue, 10000) -- every waiter asks again long before that
  end
  local first = call('ZRANGE', barrier, 0, 0, 'WITHSCORES')
  return {0, first[1], first[2] - now}
end
call('ZREM', queue, owner)
there = mine and there or there + 1
if not open and there >= tonumber(parties) then
  for _, each in ipairs(call('ZRANGE', barrier, 0, -1)) do
    local hears = each == owner or call('PUBLISH', wake .. string.match(each, '^(.*):'), each) > 0
    if hears then call('ZADD', barrier, now + presence_ms, each) end
    if not hears then there = there - call('ZREM', barrier, each) end -- the dead must not count
  end
  open = there >= tonumber(parties)
end
-- The token first: if it cannot be had, no party is let in.
local token = open and string.format('%.0f', math.max(micros, (call('GET', tokens) or 0) + 1))
if open then call('SET', tokens, token) end
if open or waits == '1' then
  local last = math.max(call('PTTL', barrier), presence_ms, open and tonumber(lease_ms) or 0)
  call('ZADD', barrier, now + (open and lease_ms or presence_ms), owner)
  call('PEXPIRE', barrier, last)
  call('SET', marker, 'barrier ' .. parties .. (open and ' open' or ''), 'PX', last)
end
return open and {1, token} or {0, '', -1}
