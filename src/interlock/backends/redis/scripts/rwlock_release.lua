-- rwlock_release: give back what a writer holds, take away the dead, and let the next ones in.
--
-- KEYS[1]  lock     hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  queue    sorted set of waiting owners, by arrival
-- KEYS[3]  tomb     there for a while after a withdrawal, so that a late question is refused
-- ARGV[1]  owner    who gives back, whatever it holds; empty: only the dead go
-- ARGV[2]  asker    who wants to come in, and lets in those before it; may be empty
-- ARGV[3]  tag      the name in its hash tag, as the hold keys of readers begin
-- ARGV[4]  tomb_ms  how long a withdrawn owner stays refused; 0 when it only gives back
-- ARGV[5]  reason   why it is withdrawn, for its holder to read; may be empty
--
-- returns {1}  released
--         {0}  the owner did not hold anything, or not any more
--
-- Safe to repeat: the second time the owner does not hold anything, and its tomb is set again.

local lock, queue, tomb = KEYS[1], KEYS[2], KEYS[3]
local owner, asker, tag, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local wake, provisional_ms = 'interlock:wake:', 2000
local call, channel = redis.call, 'redisson_rwlock:' .. tag
local function hold(who, number) return tag .. ':' .. who .. ':rwlock_timeout:' .. number end

-- The queue first: a script that has written is not stopped by maxmemory.
if tomb_ms ~= '0' and call('ZREM', queue, owner) then call('SET', tomb, reason, 'PX', tomb_ms) end
local is = call('TYPE', lock).ok == 'hash' and call('HGET', lock, 'mode')
-- What is something else by now has nothing of the owner's in it.
if not is and call('EXISTS', lock) == 1 then return {0} end
local wrote = is and call('HDEL', lock, owner .. ':write') == 1
local mine, count = wrote, is and call('HGET', lock, owner) or 0
for n = 1, tonumber(count) do mine = call('DEL', hold(owner, n)) == 1 or mine end
-- A reader none of whose holds lives is dead, and goes; so does the owner by now.  But Java's
-- only reader lives as long as the hash: a multilock of Java's does not keep its holds.
local longest, shared, fields = 0, false, (wrote or is == 'read') and call('HGETALL', lock) or {}
local mortal = #fields == 4 and '^..............8' or ':'
for i = 1, #fields, 2 do
  local who, ends = fields[i], (fields[i] == owner or string.find(fields[i], mortal)) and -2 or -1
  for n = 1, tonumber(fields[i + 1]) or 0 do ends = math.max(ends, call('PTTL', hold(who, n))) end
  if ends == -2 then call('HDEL', lock, who) end
  longest = math.max(longest, ends)
end
if is and call('HLEN', lock) == 1 and call('DEL', lock) == 1 then
  -- The first message wakes all that sleep in Java, the second one that is about to.  A writer
  -- of Java's sends the first alone: who was about to sleep waits for the end of a lease.
  if wrote then call('PUBLISH', channel, '1') end
  is, shared = false, call('PUBLISH', channel, '0') > 0
end
if mine and longest > 0 then call('PEXPIRE', lock, longest) end
if not mine and tomb_ms == '0' and owner ~= '' then return {0} end
-- Where Java waits too, the lock stays free for the first that comes, so that neither side
-- starves; our first waiters are told all the same.
for _, head in ipairs(call('ZRANGE', queue, 0, -1)) do
  local client, mark = string.match(head, '^(.*):%d*([56])$')
  local fits = client and (not is or is == 'read' and mark == '5')
  local stays = client and not fits and call('PUBSUB', 'NUMSUB', wake .. client)[2] > 0
  if head == asker or stays then break end -- no waiter overtakes
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
