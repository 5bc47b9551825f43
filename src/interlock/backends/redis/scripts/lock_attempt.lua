-- lock_attempt: grant the lock to an owner, or say who holds it and remember a waiter.
--
-- KEYS[1]  lock            hash {owner: count}, Redisson's; its expiry is the lease
-- KEYS[2]  queue           sorted set of waiting owners, by arrival; it expires
-- KEYS[3]  tomb            there when this owner was withdrawn
-- KEYS[4]  tokens          the last fencing token of this node
-- KEYS[5]  courtesy        there for a moment when it is Java's turn
-- ARGV[1]  owner           who asks
-- ARGV[2]  lease_ms        length of the lease
-- ARGV[3]  waits           1 when the owner listens and is to be remembered
--
-- returns {1, token}            granted
--         {0, holder, left_ms}  busy; left_ms is -1 when the lock never expires; no holder
--                               when it is Java's turn
--         {2}                   this owner is buried
--         {3, kind}             the name is in use as something else
--
-- Safe to repeat: an owner that holds already is granted again, with a newer token, and an
-- owner that waits already keeps its place.

local lock, queue, tomb, tokens, courtesy = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease_ms, waits = ARGV[1], ARGV[2], ARGV[3]
local wake, provisional_ms, call = 'interlock:wake:', 2000, redis.call

if call('EXISTS', lock, queue, tomb, courtesy) > 0 then
  if call('EXISTS', tomb) == 1 then return {2} end
  if call('HEXISTS', lock, 'mode') == 1 then return {3, 'rwlock'} end
  local holder = call('HKEYS', lock)[1] or call('EXISTS', courtesy) == 1 and ''
  -- A number that begins with 0 keeps the lock for whoever of ours comes next.
  if holder and string.find(holder, ':0%d$') then holder = call('DEL', lock) == 0 end
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
local last = call('SET', tokens, token, 'GET')
if last and (#last > #token or #last == #token and last >= token) then
  token = string.format('%.0f', last + 1)
  call('SET', tokens, token)
end
call('HSET', lock, owner, 1)
call('PEXPIRE', lock, lease_ms)
return {1, token}
