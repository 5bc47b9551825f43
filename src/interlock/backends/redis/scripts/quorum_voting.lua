-- quorum_voting: find out whether this node votes, for a question that is put behind this.
--
-- KEYS[*]  keys  those of the question; then the marker, which is the run id of the server that
--                voted last, and the guard, which is there while this node does not vote
-- ARGV[*]  args  those of the question; then the length of the longest lease in milliseconds, and
--                1 when a node that has restarted must not vote for so long
--
-- returns {1, run, clock, token}  as the question says.  It may use run, clock (in microseconds),
--                                 now (the same as text), longest_ms, guard_ms (for how long this
--                                 node does not vote), and the functions.
--
-- Safe to repeat: it changes nothing but the marker and the guard, and these once in a run.
--
-- A server that begins with nothing votes when it has run as long as the longest lease; one that
-- begins with the records of another run, perhaps old ones, when that time has passed from now on
-- (see quorum_attempt).

local keys, args = KEYS, ARGV
local guarded, longest_ms = table.remove(args), table.remove(args)
local guard, marker = table.remove(keys), table.remove(keys)
local call, slack = redis.call, 1000000

local time, info = call('TIME'), call('INFO', 'server')
local clock, run = time[1] * 1000000 + time[2], string.match(info, 'run_id:(%x+)')
local now, guard_ms = string.format('%.0f', clock), 0
if guarded == '1' then
  local known, left = call('GET', marker), longest_ms + 1000 -- the server counts whole seconds
  if known ~= run then
    if not known then left = left - string.match(info, 'uptime_in_seconds:(%d+)') * 1000 end
    call('SET', marker, run)
    if left > 0 then call('SET', guard, 1, 'PX', left) else call('DEL', guard) end
  end
  guard_ms = math.max(call('PTTL', guard), 0)
end

-- Whether an owner is withdrawn, or its attempts are up to this one.
local function buried(tomb, attempt)
  local words = call('GET', tomb)
  local upto = words and string.match(words, '^#(%d+)')
  return words and (not upto or tonumber(upto) >= tonumber(attempt))
end

-- The token of a grant: never less than the clock, so tokens grow though the counter was lost;
-- what is proposed counts no more than a second beyond the clock.
local function next_token(beside, proposal)
  local last = call('HGET', beside, 'token') or 0
  local token = math.max(last + 1, clock, math.min(proposal, clock + slack))
  call('HSET', beside, 'token', string.format('%.0f', token))
  call('PEXPIRE', beside, math.ceil((token - clock) / 1000) + 2 * longest_ms)
  return string.format('%.0f', token)
end
