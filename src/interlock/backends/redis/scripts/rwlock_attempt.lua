-- rwlock_attempt: let an owner read or write, or say who does and remember a waiter.
--
-- KEYS[1]  lock      hash {mode, owner: count, owner:write: count}, Redisson's; it expires
-- KEYS[2]  queue     sorted set of waiting owners, by arrival; it expires
-- KEYS[3]  tomb      there when this owner was withdrawn
-- KEYS[4]  tokens    the last fencing token of this node
-- ARGV[1]  owner     who asks
-- ARGV[2]  mode      read or write
-- ARGV[3]  lease_ms  length of the lease
-- ARGV[4]  waits     1 when the owner listens and is to be remembered
-- ARGV[5]  tag       the name in its hash tag, as the hold keys of readers begin
--
-- returns {1, token}            granted
--         {0, holder, left_ms}  busy; a stranger if one holds it, a writer as owner:write;
--                               left_ms until the first lease ends, -1 when that is not known
--         {2}                   this owner is buried
--         {3, holder}           the name is in use as something else
--         {5}                   readers have died or others are due: rwlock_release
--
-- Of a crowd of readers only some are looked at, which is enough: as long as one of them lives
-- there is nothing to be had, and every waiter asks again.
--
-- Safe to repeat: an owner that holds already is granted again, with a newer token and in the
-- mode that it has, and an owner that waits already keeps its place.

local lock, queue, tomb, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, mode, lease_ms, waits, tag = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, time = redis.call, redis.call('TIME')
local function hold(who, number) return tag .. ':' .. who .. ':rwlock_timeout:' .. number end

if call('EXISTS', tomb) == 1 then return {2} end
local is, head = call('HGET', lock, 'mode'), call('ZRANGE', queue, 0, 0)[1]
local other = is ~= 'read' and is ~= 'write' and call('HKEYS', lock)[1]
if other and other ~= owner then return {3, other} end
-- A client that asked for a plain lock has let the owner in as one; it is what it wants to be.
local mine = other and mode or is and call('HEXISTS', lock, owner .. ':write') == 1 and 'write'
  or is and call('HEXISTS', lock, owner) == 1 and call('EXISTS', hold(owner, 1)) == 1 and 'read'
-- Only readers come in beside readers, and none of them before a waiter.
if not mine and (is and is .. mode ~= 'readread' or (head or owner) ~= owner) then
  local holder, left_ms, crowded = nil, call('PTTL', lock), call('HLEN', lock) > 64
  local fields = crowded and call('HSCAN', lock, 0, 'COUNT', 64)[2] or call('HGETALL', lock)
  for i = 1, math.min(#fields, 2 * 64), 2 do
    local who, ours, ends = fields[i], string.sub(fields[i], 15, 15) == '8', -2 -- UUIDs of ours
    -- A reader lives as long as one of its holds; a writer, and Java's only reader (whose holds
    -- a multilock of Java's does not keep), as long as the hash.
    if is == 'write' or #fields == 4 and not (crowded or ours) then ends = left_ms end
    for n = 1, tonumber(fields[i + 1]) or 0 do ends = math.max(ends, call('PTTL', hold(who, n))) end
    if ends == -2 and string.find(who, ':') then return {5} end
    if who ~= 'mode' and not (holder and ours) then holder = who end
    left_ms = who == 'mode' and left_ms or math.min(left_ms, ends)
  end
  local client, mark = string.match(head or '', '^(.*):%d*([56])$')
  if (head or owner) ~= owner and (not client or not is or is == 'read' and mark == '5'
    or call('PUBSUB', 'NUMSUB', 'interlock:wake:' .. client)[2] == 0) then return {5} end
  if waits == '1' then
    local last = call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0
    local at = math.max(time[1] * 1000000 + time[2], last + 1)
    -- Who waits already needs no memory.
    if not call('ZSCORE', queue, owner) then call('ZADD', queue, at, owner) end
    call('PEXPIRE', queue, 10000) -- every waiter asks again long before that
  end
  return {0, holder or '', left_ms}
end

-- Who waits, or was handed the lock, claims it though memory is short: a script that has written
-- is not stopped by maxmemory.
if head or mine then call('ZREM', queue, owner) end
-- The token first: if it cannot be had, nothing is granted.
local token = math.max(time[1] * 1000000 + time[2], (call('GET', tokens) or 0) + 1)
call('SET', tokens, string.format('%.0f', token))
local writes = (mine or mode) == 'write'
call('HSET', lock, 'mode', writes and 'write' or 'read', owner .. (writes and ':write' or ''), 1)
if not writes then call('SET', hold(owner, 1), 1, 'PX', lease_ms) end
-- Other readers may have longer leases than this one.
if writes or call('PTTL', lock) < tonumber(lease_ms) then call('PEXPIRE', lock, lease_ms) end
return {1, token}
