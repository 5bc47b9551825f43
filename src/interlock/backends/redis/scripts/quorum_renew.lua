-- quorum_renew: make the leases of many holds whole, and vote for those that this node has lost.
--
-- KEYS[*]  names       of each hold its lock, what is beside it, and its tomb; then the marker, which
--                      is the run id of the server that voted last, and the guard, which is there
--                      while this node does not vote
-- ARGV[1]  layout      hash, which is Redisson's {owner: count}, or string, the owner
-- ARGV[2]  lease_ms    length of the lease, from now
-- ARGV[3]  attempt     number of the question; greater than those of its owners' attempts
-- ARGV[4]  longest_ms  length of the longest lease
-- ARGV[5]  guarded     1 when a node that has restarted must not vote for so long
-- ARGV[*]  owners      who holds each lock, in their order
--
-- returns {1, mine, ...}  for each hold 1 when its owner has the vote of this node, else 0
--
-- Safe to repeat: a lease is set, never added to.
--
-- A vote that was lost with the data, or never given, is given as to a question: where no other
-- owner has it, the node votes (see quorum_attempt), and the owner was not withdrawn.

local names = KEYS
local layout, lease_ms, attempt, longest_ms, guarded = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local owners = ARGV
local marker, guard = names[#names - 1], names[#names]
local answer, call = {1}, redis.call

if guarded == '1' then
  local info, known = call('INFO', 'server'), call('GET', marker)
  local run, left = string.match(info, 'run_id:(%x+)'), longest_ms + 1000
  if known ~= run then
    if not known then left = left - string.match(info, 'uptime_in_seconds:(%d+)') * 1000 end
    call('SET', marker, run)
    if left > 0 then call('SET', guard, 1, 'PX', left) else call('DEL', guard) end
  end
end
local votes = guarded ~= '1' or call('EXISTS', guard) == 0
for i = 6, #owners do
  local owner, at = owners[i], 3 * (i - 6) + 1
  local lock, beside, buried = names[at], names[at + 1], call('GET', names[at + 2])
  local holder = layout == 'hash' and redis.pcall('HKEYS', lock) or redis.pcall('GET', lock)
  if type(holder) == 'table' and not holder.err then holder = holder[1] end
  if not holder and votes and (not buried or string.find(buried, '^#')) then
    if layout == 'hash' then call('HSET', lock, owner, 1) else call('SET', lock, owner) end
    holder = owner
  end
  if holder == owner then
    call('PEXPIRE', lock, lease_ms)
    -- No withdrawal of an earlier attempt, however late, takes this vote back.
    local last = tonumber(call('HGET', beside, 'attempt') or 0)
    if last < tonumber(attempt) then call('HSET', beside, 'attempt', attempt) end
    call('PEXPIRE', beside, 2 * longest_ms)
  end
  answer[#answer + 1] = holder == owner and 1 or 0
end
return answer
