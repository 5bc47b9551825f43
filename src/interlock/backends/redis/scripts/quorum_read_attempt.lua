-- quorum_read_attempt: give the vote of this node to a reader, or say who keeps it out.
--
-- KEYS[1]  lock      hash {mode, owner: count, owner:write: count}, Redisson's; it expires
-- KEYS[2]  beside    hash {token: the last one, attempt: that of the last writer}; it expires
-- KEYS[3]  tomb      there when this owner, or some of its attempts, were withdrawn
-- KEYS[4]  hold      string, there while this owner reads, Redisson's; here the attempt is in it
-- KEYS[5]  writers   sorted set of the writers that wait, by when their marks end; it expires
-- ARGV[1]  owner     who asks
-- ARGV[2]  lease_ms  length of the lease
-- ARGV[3]  attempt   number of the question; those of an owner grow
-- ARGV[4]  proposal  the token that would suit the other nodes
--
-- returns {1, run, clock, token}            granted; clock is the server's, in microseconds
--         {0, run, clock, holder, left_ms}  busy: another writes, as owner:write, or waits to
--         {2, run, clock}                   this owner, or this attempt, is buried
--         {4, run, clock, left_ms}          the node does not vote yet
--
-- It is put behind quorum_voting.
--
-- Safe to repeat: an owner that reads already is granted again, with a whole lease and a newer
-- token, unless a later attempt of it was granted.

local lock, beside, tomb, hold, writers = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease_ms, attempt, proposal = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if guard_ms > 0 then return {4, run, now, guard_ms} end
if buried(tomb, attempt) then return {2, run, now} end
local is = call('HGET', lock, 'mode')
if not is and call('EXISTS', lock) == 1 then return redis.error_reply('WRONGTYPE no rwlock') end
local mine = is == 'read' and call('HEXISTS', lock, owner) == 1 and call('GET', hold)
if mine and tonumber(mine) > tonumber(attempt) then return {2, run, now} end
for _, who in ipairs(is == 'write' and call('HKEYS', lock) or {}) do
  if who ~= 'mode' then return {0, run, now, who, call('PTTL', lock)} end
end
-- No reader comes in before a writer that waits.
local first = call('ZRANGEBYSCORE', writers, now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if first[1] and not mine then
  return {0, run, now, first[1], math.ceil((first[2] - clock) / 1000)}
end
-- The token first: if it cannot be had, nothing is granted.
local token = next_token(beside, proposal)
call('HSET', lock, 'mode', 'read', owner, 1)
call('SET', hold, attempt, 'PX', lease_ms)
-- Other readers may have longer leases than this one.
if call('PTTL', lock) < tonumber(lease_ms) then call('PEXPIRE', lock, lease_ms) end
return {1, run, now, token}
