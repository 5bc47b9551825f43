-- quorum_rw_release: take the vote of this node back, and refuse the owner from now on.
--
-- KEYS[1]  lock     hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  beside   hash {token: the last one, attempt: that of the last writer}
-- KEYS[3]  tomb     it will be there for a while, so that a late question is refused
-- KEYS[4]  writers  sorted set of the writers that wait, by when their marks end
-- ARGV[1]  owner    who gives it back, in whichever mode, or is withdrawn
-- ARGV[2]  tag      the name in its hash tag, as the hold keys of readers begin
-- ARGV[3]  tomb_ms  how long the owner stays refused
-- ARGV[4]  reason   why, for its holder to read; may be empty
-- ARGV[5]  attempt  left out, or the last of the attempts that are withdrawn: later ones are not,
--                   and the owner may wait on
--
-- returns {1}  it held the lock, which was released
--         {0}  it did not hold the lock, or not any more
--
-- Safe to repeat: the second time the owner does not hold, and its tomb is set again.

local lock, beside, tomb, writers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, tag, tomb_ms, reason, attempt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, channel = redis.call, 'redisson_rwlock:' .. tag
local function hold(number) return tag .. ':' .. owner .. ':rwlock_timeout:' .. number end

local buried = call('GET', tomb)
local upto = buried and string.match(buried, '^#(%d+)')
if not attempt then
  if reason ~= '' or not buried or upto then call('SET', tomb, '=' .. reason, 'PX', tomb_ms) end
  -- It was perhaps all that kept readers out.
  if call('ZREM', writers, owner) == 1 then call('PUBLISH', channel, '1') end
elseif not buried or upto and tonumber(upto) < tonumber(attempt) then
  call('SET', tomb, '#' .. attempt, 'PX', tomb_ms)
end
-- What is another kind of key by now is not the owner's either.
if type(redis.pcall('HGET', lock, 'mode')) ~= 'string' then return {0} end
local wrote = call('HEXISTS', lock, owner .. ':write') == 1
local last = wrote and call('HGET', beside, 'attempt') or call('GET', hold(1)) or 0
if attempt and tonumber(last) > tonumber(attempt) then return {0} end
local mine, count = wrote, call('HGET', lock, owner) or 0
for n = 1, tonumber(count) do mine = call('DEL', hold(n)) == 1 or mine end
call('HDEL', lock, owner, owner .. ':write')
-- After a writer all that wait come anew, so that writers keep no reader out for ever.
if wrote and not attempt then call('DEL', writers) end
if call('HLEN', lock) == 1 then
  call('DEL', lock)
  call('PUBLISH', channel, wrote and '1' or '0')
end
return {mine and 1 or 0}
