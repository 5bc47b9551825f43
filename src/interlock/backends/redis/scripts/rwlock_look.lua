-- rwlock_look: tell who reads or writes, for how long still, and how many wait.
--
-- KEYS[1]  lock   hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  queue  sorted set of waiting owners, by arrival
-- ARGV[1]  tag    the name in its hash tag, as the hold keys of readers begin
--
-- returns {1, waiting, holder, left_ms, ...}  a writer as owner:write; left_ms is -1 when it
--                                             never ends
--         {0}                                 free
--         {3, holder}                         the name is in use as something else
--
-- Safe to repeat: it changes nothing.

local lock, queue = KEYS[1], KEYS[2]
local tag = ARGV[1]

local call, fields = redis.call, redis.call('HGETALL', lock)
local is, answer = call('HGET', lock, 'mode'), {1, call('ZCARD', queue)}
if is ~= 'read' and is ~= 'write' then return fields[1] and {3, fields[1]} or {0} end
for i = 1, #fields, 2 do
  local who, ends = fields[i], -2
  for hold = 1, tonumber(fields[i + 1]) or 0 do
    ends = math.max(ends, call('PTTL', tag .. ':' .. who .. ':rwlock_timeout:' .. hold))
  end
  -- A writer lives as long as the hash, and so does Java's only reader.
  local alone = #fields == 4 and string.sub(who, 15, 15) ~= '8'
  if alone or string.find(who, ':write') then ends = math.max(ends, call('PTTL', lock)) end
  -- A reader none of whose holds lives is dead, though it is still written down.
  if who ~= 'mode' and ends ~= -2 then
    table.insert(answer, who)
    table.insert(answer, ends)
  end
end
return answer[3] and answer or {0}
