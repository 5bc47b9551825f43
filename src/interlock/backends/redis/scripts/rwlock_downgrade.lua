-- rwlock_downgrade: make a writer a reader, and let those in who wait to read.
--
-- KEYS[1]  lock      hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  queue     sorted set of waiting owners, by arrival
-- KEYS[3]  hold      string, there while this owner reads, Redisson's
-- ARGV[1]  owner     who writes
-- ARGV[2]  lease_ms  length of the lease, from now
-- ARGV[3]  tag       the name in its hash tag, as the hold keys of readers begin
--
-- returns {1}  it is a reader
--         {0}  it did not hold anything; nothing was touched
--
-- Safe to repeat: it is a reader already, and its lease is set again.

local lock, queue, hold = KEYS[1], KEYS[2], KEYS[3]
local owner, lease_ms, tag = ARGV[1], ARGV[2], ARGV[3]
local wake, provisional_ms = 'interlock:wake:', 2000
local call, channel = redis.call, 'redisson_rwlock:' .. tag

local wrote = redis.pcall('HDEL', lock, owner .. ':write') == 1
local reads = redis.pcall('HEXISTS', lock, owner) == 1 and call('EXISTS', hold) == 1
if not wrote and not reads then return {0} end
call('HSET', lock, 'mode', 'read', owner, 1)
call('SET', hold, 1, 'PX', lease_ms)
if wrote or call('PTTL', lock) < tonumber(lease_ms) then call('PEXPIRE', lock, lease_ms) end
-- The first message wakes all that sleep in Java, the second one that is about to.
if wrote then
  call('PUBLISH', channel, '1')
  call('PUBLISH', channel, '0')
end
-- To let our readers in takes nothing from Java's: there is room for all of them.
for _, head in ipairs(call('ZRANGE', queue, 0, -1)) do
  local client, mark = string.match(head, '^(.*):%d*([56])$')
  -- No reader overtakes a writer that still hears.
  if mark == '6' and call('PUBSUB', 'NUMSUB', wake .. client)[2] > 0 then break end
  call('ZREM', queue, head)
  if mark == '5' and call('PUBLISH', wake .. client, head) > 0 then
    call('HSET', lock, head, 1)
    call('SET', tag .. ':' .. head .. ':rwlock_timeout:1', 1, 'PX', provisional_ms)
    if call('PTTL', lock) < provisional_ms then call('PEXPIRE', lock, provisional_ms) end
  end
end
return {1}
