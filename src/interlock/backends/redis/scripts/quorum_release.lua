-- quorum_release: take the vote of this node back, and refuse the owner from now on.
--
-- KEYS[1]  lock     as `layout` says
-- KEYS[2]  beside   hash {token: the last one, attempt: that of the grant}
-- KEYS[3]  tomb     it will be there for a while, so that a late question is refused
-- ARGV[1]  owner    who gives it back, or is withdrawn
-- ARGV[2]  layout   hash, which is Redisson's {owner: count}, or string, the owner
-- ARGV[3]  channel  where those listen who wait for the lock
-- ARGV[4]  tomb_ms  how long the owner stays refused
-- ARGV[5]  reason   why, for its holder to read; may be empty
-- ARGV[6]  attempt  left out, or the last of the attempts that are withdrawn: later ones are not
--
-- returns {1}  it held the lock, which was released
--         {0}  it did not hold the lock
--
-- Safe to repeat: the second time the owner does not hold, and its tomb is set again.

local lock, beside, tomb = KEYS[1], KEYS[2], KEYS[3]
local owner, layout, channel, tomb_ms, reason, attempt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local buried = redis.call('GET', tomb)
local upto = buried and string.match(buried, '^#(%d+)')
if not attempt then
  if reason ~= '' or not buried or upto then redis.call('SET', tomb, '=' .. reason, 'PX', tomb_ms) end
elseif not buried or upto and tonumber(upto) < tonumber(attempt) then
  redis.call('SET', tomb, '#' .. attempt, 'PX', tomb_ms)
end
-- What is another kind of key by now is not the owner's either.
local holder = layout == 'hash' and redis.pcall('HKEYS', lock) or redis.pcall('GET', lock)
if type(holder) == 'table' then holder = holder[1] end
if holder ~= owner then return {0} end
if attempt and tonumber(redis.call('HGET', beside, 'attempt') or 0) > tonumber(attempt) then return {0} end
redis.call('DEL', lock)
redis.call('PUBLISH', channel, '0')
return {1}
