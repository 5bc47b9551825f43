-- quorum_write_attempt: give the vote of this node to a writer, or mark that it waits.
--
-- KEYS[1]  lock      hash {mode, owner: count, owner:write: count}, Redisson's; it expires
-- KEYS[2]  beside    hash {token: the last one, attempt: that of the last writer}; it expires
-- KEYS[3]  tomb      there when this owner, or some of its attempts, were withdrawn
-- KEYS[4]  hold      string, there if this owner reads by now, with the attempt in it
-- KEYS[5]  writers   sorted set of the writers that wait, by when their marks end; it expires
-- ARGV[1]  owner     who asks
-- ARGV[2]  lease_ms  length of the lease
-- ARGV[3]  attempt   number of the question; those of an owner grow
-- ARGV[4]  proposal  the token that would suit the other nodes
-- ARGV[5]  mark_ms   how long a mark stands; 0 when the owner does not wait
-- ARGV[6]  tag       the name in its hash tag, as the hold keys of readers begin
--
-- returns {1, run, clock, token}            granted; clock is the server's, in microseconds
--         {0, run, clock, holder, left_ms}  busy; a writer as owner:write; left_ms is -1 when its
--                                           lease never ends
--         {2, run, clock}                   this owner, or this attempt, is buried
--         {4, run, clock, left_ms}          the node does not vote yet
--
-- It is put behind quorum_voting.
--
-- Of a crowd of readers one is looked at that lives; those who died go, each of them once.
--
-- Safe to repeat: an owner that writes already is granted again, with a whole lease and a newer
-- token, unless a later attempt of it was granted; its mark is set again.

local lock, beside, tomb, hold, writers = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease_ms, attempt, proposal = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local mark_ms, tag = ARGV[5], ARGV[6]

if guard_ms > 0 then return {4, run, now, guard_ms} end
if buried(tomb, attempt) then return {2, run, now} end
local is = call('HGET', lock, 'mode')
if not is and call('EXISTS', lock) == 1 then return redis.error_reply('WRONGTYPE no rwlock') end
local mine = is and call('HEXISTS', lock, owner .. ':write') == 1
local last = mine and call('HGET', beside, 'attempt') or call('GET', hold) or 0
if tonumber(last) > tonumber(attempt) then return {2, run, now} end
local cursor, holder, left = is and not mine and '0', nil, nil
while cursor and not holder do
  local found = call('HSCAN', lock, cursor, 'COUNT', 64)
  cursor = found[1] ~= '0' and found[1]
  for i = 1, #found[2], 2 do
    local who = found[2][i]
    -- A reader lives as long as its hold, a writer as long as the hash.
    left = call('PTTL', is == 'write' and lock or tag .. ':' .. who .. ':rwlock_timeout:1')
    if who ~= 'mode' and left ~= -2 then holder = who break end
    if who ~= 'mode' then call('HDEL', lock, who) end
  end
end
if holder and mark_ms ~= '0' then
  call('ZREMRANGEBYSCORE', writers, '-inf', now)
  call('ZADD', writers, clock + 1000 * mark_ms, owner)
  call('PEXPIRE', writers, mark_ms)
end
if holder then return {0, run, now, holder, left} end
call('ZREM', writers, owner)
-- The token first: if it cannot be had, nothing is granted.
local token = next_token(beside, proposal)
call('HSET', beside, 'attempt', attempt)
call('HSET', lock, 'mode', 'write', owner .. ':write', 1)
call('PEXPIRE', lock, lease_ms)
return {1, run, now, token}
