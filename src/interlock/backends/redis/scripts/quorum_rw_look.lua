-- quorum_rw_look: tell who reads or writes on this node, for how long still, and a writer's token.
--
-- KEYS[1]  lock    hash {mode, owner: count, owner:write: count}, Redisson's
-- KEYS[2]  beside  hash {token: the last one, attempt: that of the last writer}
-- ARGV[1]  tag     the name in its hash tag, as the hold keys of readers begin
--
-- returns {1, token, holder, left_ms, ...}  a writer as owner:write; left_ms is -1 when it never
--                                           ends; the token is empty where it is not known
--         {0}                               free
--
-- Safe to repeat: it changes nothing.

local lock, beside = KEYS[1], KEYS[2]
local tag = ARGV[1]

local call, is, fields = redis.call, redis.call('HGET', lock, 'mode'), redis.call('HKEYS', lock)
if fields[1] and not is then return redis.error_reply('WRONGTYPE no rwlock') end
local answer = {1, is == 'write' and call('HGET', beside, 'token') or ''}
for _, who in ipairs(fields) do
  local left = call('PTTL', is == 'write' and lock or tag .. ':' .. who .. ':rwlock_timeout:1')
  -- A reader whose hold has ended is dead, though it is still written down.
  if who ~= 'mode' and left ~= -2 then
    table.insert(answer, who)
    table.insert(answer, left)
  end
end
return answer[3] and answer or {0}
