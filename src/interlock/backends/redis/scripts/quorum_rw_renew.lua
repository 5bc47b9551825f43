-- quorum_rw_renew: make the leases of many holds whole, and vote for those that this node has lost.
--
-- KEYS[*]  names     of each hold its lock, what is beside it, its tomb, and the string that is
--                    there while its owner reads
-- ARGV[1]  lease_ms  length of the lease, from now
-- ARGV[2]  attempt   number of the question; greater than those of its owners' attempts
-- ARGV[*]  fields    who holds each lock, in their order; a writer as owner:write
--
-- returns {1, mine, ...}  for each hold 1 when its owner has the vote of this node, else 0
--
-- It is put behind quorum_voting.
--
-- Safe to repeat: a lease is set, never added to.
--
-- A vote that was lost with the data, or never given, is given as to a question: to a writer where
-- nothing is held, to a reader where none writes, if the node votes and the owner was not
-- withdrawn.  A writer that reads on is a reader here too from now on; never the other way round.

local names = KEYS
local lease_ms, attempt = ARGV[1], ARGV[2]
local fields = ARGV

local answer = {1}
for i = 3, #fields do
  local owner, at = string.gsub(fields[i], ':write$', ''), 4 * (i - 3)
  local lock, beside, tomb, hold = names[at + 1], names[at + 2], names[at + 3], names[at + 4]
  local kind = call('TYPE', lock).ok
  local is = kind == 'hash' and call('HGET', lock, 'mode')
  local reads = owner == fields[i] or is == 'read'
  local wrote = is == 'write' and call('HEXISTS', lock, owner .. ':write') == 1
  local read = is == 'read' and call('HEXISTS', lock, owner) == 1 and call('EXISTS', hold) == 1
  local free = kind == 'none' or is == 'read' and owner == fields[i]
  local mine = wrote or read or free and guard_ms == 0 and not buried(tomb, math.huge)
  -- No withdrawal of an earlier attempt, however late, takes this vote back.
  local last = wrote and call('HGET', beside, 'attempt') or call('GET', hold) or 0
  local number = math.max(tonumber(attempt), tonumber(last))
  if mine and reads then
    call('HDEL', lock, owner .. ':write')
    call('HSET', lock, 'mode', 'read', owner, 1)
    call('SET', hold, number, 'PX', lease_ms)
  elseif mine then
    call('HSET', lock, 'mode', 'write', owner .. ':write', 1)
    call('HSET', beside, 'attempt', number)
  end
  -- Other readers may have longer leases than this one.
  local short = mine and (wrote or call('PTTL', lock) < tonumber(lease_ms))
  if short then call('PEXPIRE', lock, lease_ms) end
  if mine then call('PEXPIRE', beside, 2 * longest_ms) end
  answer[#answer + 1] = mine and 1 or 0
end
return answer
