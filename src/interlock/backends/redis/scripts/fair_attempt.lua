-- fair_attempt: grant the lock to the first of its queue, or tell who is before the one who asks.
--
-- KEYS[1]  lock      hash {owner: count}, Redisson's; its expiry is the lease
-- KEYS[2]  queue     list of waiting owners, Redisson's; the head is next
-- KEYS[3]  scores    sorted set, Redisson's: from when on a waiter counts as dead, in ms
-- KEYS[4]  seen      sorted set of our waiters: until when each counts as alive; it expires
-- KEYS[5]  tomb      there when this owner was withdrawn
-- KEYS[6]  tokens    the last fencing token of this node
-- ARGV[1]  owner     who asks
-- ARGV[2]  lease_ms  length of the lease
-- ARGV[3]  waits     1 when the owner listens and is to be remembered
-- ARGV[4]  wait_ms   how long the owner means to wait
--
-- returns {1, token}                       granted
--         {0, before, left_ms}             busy: the holder, and its lease, -1 if that never ends;
--                                          or the head of the queue, and how long it may take
--         {0, before, left_ms, neighbour}  the same to one who waits, and who is next before it
--         {2}                              this owner is buried
--         {3, kind}                        the name is in use as something else
--
-- Safe to repeat: an owner that holds already is granted again, with a newer token, and an
-- owner that waits already keeps its place.

local lock, queue, scores, seen, tomb, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, lease_ms, waits, wait_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wake, grace_ms = 'interlock:wake:', 5000 -- every waiter of ours asks long before that

local call, time = redis.call, redis.call('TIME')
if call('EXISTS', tomb) == 1 then return {2} end
if call('HEXISTS', lock, 'mode') == 1 then return {3, 'rwlock'} end
local now, holder = time[1] * 1000 + math.floor(time[2] / 1000), call('HKEYS', lock)[1]
local head, limit = call('LINDEX', queue, 0), now
-- The dead at the head give way: Java's by their score; ours when they have not asked for long,
-- or when it is their turn and their client does not hear.
while head and head ~= owner do
  local ours = string.match(head, '^(%x+%-%x+%-8.*):') -- its client; Java's have a 4 there
  limit = tonumber(call('ZSCORE', ours and seen or scores, head) or 0)
  if limit > now and (holder or not ours or call('PUBLISH', wake .. ours, head) > 0) then break end
  call('ZREM', scores, call('LPOP', queue))
  head = call('LINDEX', queue, 0)
end
local before, left_ms = holder or head, holder and call('PTTL', lock) or limit - now
if before and before ~= owner then
  if waits == '0' then return {0, before, left_ms} end
  local place, base = call('LPOS', queue, owner), math.max(holder and left_ms or 0, 0)
  local neighbour = place ~= 0 and call('LINDEX', queue, (place or 0) - 1) or before
  local score = call('ZSCORE', scores, place and owner or neighbour)
  if score and not place then base = math.max(score - now, 0) end -- my time follows the last one's
  -- Who has a place keeps it: a script that has written is not stopped by maxmemory.
  if place then call('ZREM', seen, owner) else call('RPUSH', queue, owner) end
  -- Made whole when half of it is over: a holder may take long, and Java must see that we live.
  if not (place and score) or score - now < wait_ms / 2 then
    call('ZADD', scores, now + base + wait_ms, owner)
  end
  call('ZADD', seen, now + grace_ms, owner)
  call('PEXPIRE', seen, 2 * grace_ms)
  return {0, before, left_ms, neighbour}
end

-- Who waits, or was handed the lock, claims it though memory is short: a script that has written
-- is not stopped by maxmemory.
if before then call('ZREM', seen, owner) end
-- The token first: if it cannot be had, nothing is granted.
local token = math.max(time[1] * 1000000 + time[2], (call('GET', tokens) or 0) + 1)
call('SET', tokens, token)
call('LREM', queue, 1, owner)
-- Those behind need not wait for this one's time any more.
for _, other in ipairs(call('ZREM', scores, owner) == 1 and call('ZRANGE', scores, 0, -1) or {}) do
  call('ZADD', scores, 'INCR', '-' .. wait_ms, other)
end
call('HSET', lock, owner, 1)
call('PEXPIRE', lock, lease_ms)
return {1, token}
