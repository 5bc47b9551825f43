-- rwlock_leave: give back what a reader holds, take away the dead, and let the next ones in.
--
-- KEYS[1]  lock     hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  queue    sorted set of waiting owners, by arrival
-- KEYS[3]  tomb     there for a while after a withdrawal, so that a late question is refused
-- ARGV[1]  owner    who reads, or waits to read
-- ARGV[2]  tag      the name in its hash tag, as the hold keys of readers begin
-- ARGV[3]  tomb_ms  how long a withdrawn owner stays refused; 0 when it only gives back
-- ARGV[4]  reason   why it is withdrawn, for its holder to read; may be empty
--
-- returns {1}  released
--         {0}  the owner did not hold anything, or not any more
--
-- Safe to repeat: the second time the owner does not hold anything, and its tomb is set again.
--
-- Of a crowd only a few are looked at, or each reader that leaves would look at all others: if
-- one of them lives, nothing becomes free, and the hash keeps the end that it had.  That may be
-- later than the end of the longest lease that is left, until the crowd is none any more.

local lock, queue, tomb = KEYS[1], KEYS[2], KEYS[3]
local owner, tag, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wake, provisional_ms, crowd, call = 'interlock:wake:', 2000, 64, redis.call
local function hold(who, number) return tag .. ':' .. who .. ':rwlock_timeout:' .. number end

-- The queue first: a script that has written is not stopped by maxmemory.
if tomb_ms ~= '0' and call('ZREM', queue, owner) then call('SET', tomb, reason, 'PX', tomb_ms) end
local is = call('TYPE', lock).ok == 'hash' and call('HGET', lock, 'mode')
-- What is something else by now has nothing of the owner's in it.
if not is and call('EXISTS', lock) == 1 then return {0} end
local mine, count = false, is and call('HGET', lock, owner) or 0
for n = 1, tonumber(count) do mine = call('DEL', hold(owner, n)) == 1 or mine end
local crowded = is == 'read' and call('HLEN', lock) > crowd and call('HDEL', lock, owner)
-- It answers with the counts of readers, too, which are no readers.
for _, who in ipairs(crowded and call('HSCAN', lock, 0, 'COUNT', crowd)[2] or {}) do
  if call('EXISTS', hold(who, 1)) == 1 then return {mine and 1 or 0} end
end
-- A reader none of whose holds lives is dead, and goes; so does the owner by now.  But Java's
-- only reader lives as long as the hash: a multilock of Java's does not keep its holds.
local longest, shared, fields = 0, false, is == 'read' and call('HGETALL', lock) or {}
local mortal = #fields == 4 and '^..............8' or ':'
for i = 1, #fields, 2 do
  local who, ends = fields[i], (fields[i] == owner or string.find(fields[i], mortal)) and -2 or -1
  for n = 1, tonumber(fields[i + 1]) or 0 do ends = math.max(ends, call('PTTL', hold(who, n))) end
  if ends == -2 then call('HDEL', lock, who) end
  longest = math.max(longest, ends)
end
if is and call('HLEN', lock) == 1 and call('DEL', lock) == 1 then
  is, shared = false, call('PUBLISH', 'redisson_rwlock:' .. tag, '0') > 0
end
if mine and longest > 0 then call('PEXPIRE', lock, longest) end
if not mine and tomb_ms == '0' then return {0} end
-- Where Java waits too, the lock stays free for the first that comes, so that neither side
-- starves; our first waiters are told all the same.
for _, head in ipairs(call('ZRANGE', queue, 0, -1)) do
  local client, mark = string.match(head, '^(.*):%d*([56])$')
  local fits = client and (not is or is == 'read' and mark == '5')
  if client and not fits and call('PUBSUB', 'NUMSUB', wake .. client)[2] > 0 then break end
  local heard = fits and call('PUBLISH', wake .. client, head) > 0
  is = heard and (mark == '5' and 'read' or 'write') or is
  if not (heard and shared) then call('ZREM', queue, head) end
  if heard and not shared then
    call('HSET', lock, 'mode', is, is == 'read' and head or head .. ':write', 1)
    if is == 'read' then call('SET', hold(head, 1), 1, 'PX', provisional_ms) end
    if call('PTTL', lock) < provisional_ms then call('PEXPIRE', lock, provisional_ms) end
  end
end
return {mine and 1 or 0}
