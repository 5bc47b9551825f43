-- quorum_attempt: give the vote of this node to an owner, or say who has it.
--
-- KEYS[1]  lock       as `layout` says; its expiry is the lease
-- KEYS[2]  beside     hash {token: the last one, attempt: that of the grant}; it expires
-- KEYS[3]  tomb       there when this owner, or some of its attempts, were withdrawn
-- KEYS[4]  marker     the run id of the server that voted last
-- KEYS[5]  guard      there while this node does not vote
-- ARGV[1]  owner      who asks
-- ARGV[2]  layout     hash, which is Redisson's {owner: count}, or string, the owner (SET NX PX)
-- ARGV[3]  lease_ms   length of the lease
-- ARGV[4]  attempt    number of the question; those of an owner grow
-- ARGV[5]  proposal   the token that would suit the other nodes
-- ARGV[6]  longest_ms  length of the longest lease
-- ARGV[7]  guarded    1 when a node that has restarted must not vote for so long
-- ARGV[8]  run        the run id, as this node has told it on this connection; empty, or left out, when
--                     it has not
--
-- returns {1, run, clock, token}            granted; clock is the server's, in microseconds
--         {0, run, clock, holder, left_ms}  busy; left_ms is -1 when the lock never expires
--         {2, run, clock}                   this owner, or this attempt, is buried
--         {4, run, clock, left_ms}          the node does not vote yet
--
-- Safe to repeat: an owner that holds already is granted again, with a whole lease and a newer
-- token, unless a later attempt of it was granted.
--
-- A token is never less than the clock, so tokens grow though the counter was lost.  What is
-- proposed counts no more than a second beyond the clock: it is only a hint.
--
-- A server that has lost what it knew may have granted leases that still stand.  One that begins
-- with nothing votes when it has run as long as the longest lease; one that begins with the
-- records of another run, perhaps old ones, when that time has passed from now on.
--
-- No connection outlives the run of the server at its other end, so what the node has told on it
-- is still true; to ask the server (INFO) would cost more than all the rest.

local lock, beside, tomb, marker, guard = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, layout, lease_ms, attempt, proposal = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local longest_ms, guarded, run = ARGV[6], ARGV[7], ARGV[8]
local slack, call = 1000000, redis.call

local guards, time = guarded == '1', call('TIME')
local voted = guards and call('GET', marker)
local clock = time[1] * 1000000 + time[2]
if (run or '') == '' or guards and voted ~= run then
  local info = call('INFO', 'server')
  run = string.match(info, 'run_id:(%x+)')
  if guards and voted ~= run then
    local left = longest_ms + 1000 -- the server counts whole seconds
    if not voted then left = left - string.match(info, 'uptime_in_seconds:(%d+)') * 1000 end
    call('SET', marker, run)
    if left > 0 then call('SET', guard, 1, 'PX', left) else call('DEL', guard) end
  end
end
if call('EXISTS', lock, tomb, guard) > 0 then
  local left, buried, holder = call('PTTL', guard), call('GET', tomb)
  if guards and left > 0 then return {4, run, clock, left} end
  if buried then
    local upto = string.match(buried, '^#(%d+)') or attempt
    if tonumber(upto) >= tonumber(attempt) then return {2, run, clock} end
  end
  if layout == 'hash' then holder = call('HKEYS', lock)[1] else holder = call('GET', lock) end
  if holder and holder ~= owner then return {0, run, clock, holder, call('PTTL', lock)} end
  local last = holder and call('HGET', beside, 'attempt') or 0
  if tonumber(last) > tonumber(attempt) then return {2, run, clock} end
end
local last = call('HGET', beside, 'token') or 0
local token = math.max(last + 1, clock, math.min(proposal, clock + slack))
local shown = token == tonumber(proposal) and proposal or string.format('%.0f', token)
-- The token first: if it cannot be had, nothing is granted.
call('HSET', beside, 'token', shown, 'attempt', attempt)
local keep_ms = math.ceil((token - clock) / 1000) + 2 * longest_ms
if call('PTTL', beside) < keep_ms then call('PEXPIRE', beside, 2 * keep_ms) end
if layout == 'string' then call('SET', lock, owner, 'PX', lease_ms) else
  call('HSET', lock, owner, 1)
  call('PEXPIRE', lock, lease_ms)
end
return {1, run, clock, shown}
