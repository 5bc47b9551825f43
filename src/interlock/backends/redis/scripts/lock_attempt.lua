-- lock_attempt: grant the lock to an owner, or say who holds it and remember a waiter.
--
-- KEYS[1]  lock            hash {owner: count}, Redisson's; its expiry is the lease
-- KEYS[2]  queue           sorted set of waiting owners, by arrival; it expires
-- KEYS[3]  tomb            there when this owner was withdrawn
-- KEYS[4]  tokens          the last fencing token of this node
-- ARGV[1]  owner           who asks
-- ARGV[2]  lease_ms        length of the lease
-- ARGV[3]  waits           1 when the owner listens and is to be remembered
-- ARGV[4]  provisional_ms  how long a waiter has to claim what it was handed
-- ARGV[5]  wake            what the names of wake channels start with
--
-- returns {1, token}            granted
--         {0, holder, left_ms}  busy; left_ms is -1 when the lock never expires
--         {2}                   this owner is buried
--         {3, kind}             the name is in use as something else
--
-- Safe to repeat: an owner that holds already is granted again, with a newer token, and an
-- owner that waits already keeps its place.

local lock, queue, tomb, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease_ms, waits, provisional_ms, wake = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function grant()
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, lease_ms)
  -- The clock alone could step back, the counter alone could be lost with the data.
  local token = math.max(micros(), (redis.call('GET', tokens) or 0) + 1)
  redis.call('SET', tokens, string.format('%.0f', token))
  return {1, token}
end

if redis.call('EXISTS', lock, queue, tomb) == 0 then return grant() end
if redis.call('EXISTS', tomb) == 1 then return {2} end
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
  if fields[i] == 'mode' then return {3, 'rwlock'} end
end
-- Free, but others may have come before: the first one that still hears gets it.
while #fields == 0 do
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if not head or head == owner then break end
  redis.call('ZREM', queue, head)
  if redis.call('PUBLISH', wake .. string.match(head, '^(.*):'), head) > 0 then
    redis.call('HSET', lock, head, 1)
    redis.call('PEXPIRE', lock, provisional_ms)
    fields = {head}
  end
end
if #fields == 0 or fields[1] == owner then
  redis.call('ZREM', queue, owner)
  return grant()
end
if waits == '1' then
  if not redis.call('ZSCORE', queue, owner) then
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0
    redis.call('ZADD', queue, math.max(micros(), last + 1), owner)
  end
  redis.call('PEXPIRE', queue, 10000) -- every waiter asks again long before that
end
return {0, fields[1], redis.call('PTTL', lock)}
