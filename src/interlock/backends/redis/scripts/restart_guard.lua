-- restart_guard: refuse a question while leases that the server has forgotten may still stand.
--
-- KEYS[*]  keys  those of the question; then the marker, which is the run id of the server that
--                granted last, and the guard, which is there while it grants nothing
-- ARGV[*]  args  those of the question; then the length of the longest lease, in milliseconds
--
-- returns {1, token}  as the question says, which is put behind this; or, while the guard is
--                     there, an error: GUARDED, and how many milliseconds are left
--
-- Safe to repeat: it changes nothing but the marker and the guard, and these once in a run.
--
-- A server that begins with nothing grants when it has run as long as the longest lease; one that
-- begins with the records of another run, perhaps old ones, when that time has passed from now on
-- (see quorum_attempt).

local keys, args = KEYS, ARGV
local longest_ms, guard, marker = table.remove(args), table.remove(keys), table.remove(keys)

do
  local info, known = redis.call('INFO', 'server'), redis.call('GET', marker)
  local run = string.match(info, 'run_id:(%x+)')
  if known ~= run then
    local left = longest_ms + 1000 -- the server counts whole seconds
    if not known then left = left - string.match(info, 'uptime_in_seconds:(%d+)') * 1000 end
    redis.call('SET', marker, run)
    if left > 0 then redis.call('SET', guard, 1, 'PX', left) else redis.call('DEL', guard) end
  end
  local left = redis.call('PTTL', guard)
  if left > 0 then return redis.error_reply('GUARDED ' .. left) end
end
