-- lock_attempt: grant the lock to an owner, or say who holds it and remember a waiter.
--
-- KEYS[1]  lock      hash {owner: count}, Redisson's; its expiry is the lease
-- KEYS[2]  queue     sorted set of waiting owners, by arrival; it expires
-- KEYS[3]  tomb      there when this owner was withdrawn
-- KEYS[4]  tokens    the last fencing token of this node; of a fenced lock, that of its name,
--                    which is Redisson's
-- KEYS[5]  courtesy  there for a moment when it is Java's turn
-- ARGV[1]  owner     who asks
-- ARGV[2]  lease_ms  length of the lease
-- ARGV[3]  waits     1 when the owner listens and is to be remembered
-- ARGV[4]  fenced    1 for a fenced lock, else left out
--
-- returns {1, token}            granted
--         {0, holder, left_ms}  busy; left_ms is -1 when the lock never expires; no holder
--                               when it is Java's turn
--         {2}                   this owner is buried
--         {3, kind}             the name is in use as something else
--
-- Safe to repeat: an owner that holds already is granted again, with a newer token, and an
-- owner that waits already keeps its place.
--
-- Where there is no token yet, or the clock is ahead of one that once came from it, the token is
-- the server's time in microseconds; else it is the next number.  So tokens grow though the last
-- one was lost, or restored as it was some time ago.  Java counts on from those of a fenced lock,
-- and a row that Java began at 1 goes on by ones.

local lock, queue, tomb, tokens, courtesy = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease_ms, waits, fenced = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wake, provisional_ms, call = 'interlock:wake:', 2000, redis.call

if call('EXISTS', lock, queue, tomb, courtesy) > 0 then
  if call('EXISTS', tomb) == 1 then return {2} end
  if call('HEXISTS', lock, 'mode') == 1 then return {3, 'rwlock'} end
  local holder = call('HKEYS', lock)[1] or call('EXISTS', courtesy) == 1 and ''
  -- A number that begins with 0 keeps the lock for the next of ours.
  if holder and string.find(holder, ':0%d0*$') then holder = call('DEL', lock) == 0 end
  -- Free, but others may have come before: the first one that still hears gets it.
  while not holder do
    local head = call('ZRANGE', queue, 0, 0)[1]
    if not head or head == owner then break end
    call('ZREM', queue, head)
    if call('PUBLISH', wake .. string.match(head, '^(.*):'), head) > 0 then
      call('HSET', lock, head, 1)
      call('PEXPIRE', lock, provisional_ms)
      holder = head
    end
  end
  if holder and holder ~= owner then
    if waits == '1' then
      if not call('ZSCORE', queue, owner) then
        local time, last = call('TIME'), call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0
        call('ZADD', queue, math.max(time[1] * 1000000 + time[2], last + 1), owner)
      end
      call('PEXPIRE', queue, 10000) -- every waiter asks again long before that
    end
    return {0, holder, math.max(call('PTTL', lock), call('PTTL', courtesy))}
  end
  call('ZREM', queue, owner)
end

-- The token first: if it cannot be had, nothing is granted.
local time = call('TIME')
-- Kept as text: turning large numbers into text and back costs more than all the rest.
local token = time[1] .. string.sub('00000' .. time[2], -6)
-- The clock alone could step back, a counter alone could be lost with the data.
local last = call('SET', tokens, token, 'KEEPTTL', 'GET')
if last and (#last > #token or #last == #token and last >= token or fenced and #last < #token) then
  call('SET', tokens, last, 'KEEPTTL')
  token = call('INCR', tokens)
end
call('HSET', lock, owner, 1)
call('PEXPIRE', lock, lease_ms)
return {1, token}
