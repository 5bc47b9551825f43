"""The shortest script pairs in Redisson's layout, for every primitive but the lock.

No token, no owner of a permit, no lease that anybody keeps.  Times are the server's, because
packed bytes cannot carry a clock.
"""

from __future__ import annotations

TAKE_FENCED = """
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {redis.call('PTTL', KEYS[1]), -1}
end
local token = redis.call('INCR', KEYS[2])
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {-1, token}
"""

#: Whoever waits at the head and is overdue gives way: the beginning of both fair scripts.
FAIR_HEAD = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('LINDEX', KEYS[2], 0)
while head do
  local limit = redis.call('ZSCORE', KEYS[3], head)
  if not limit or tonumber(limit) > now then break end
  redis.call('ZREM', KEYS[3], head)
  redis.call('LPOP', KEYS[2])
  head = redis.call('LINDEX', KEYS[2], 0)
end
"""

TAKE_FAIR = f"""{FAIR_HEAD}
if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[1]) then
  if head then
    redis.call('LPOP', KEYS[2])
    redis.call('ZREM', KEYS[3], head)
    for _, other in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
      redis.call('ZINCRBY', KEYS[3], -ARGV[3], other)
    end
  end
elseif redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  local left = math.max(redis.call('PTTL', KEYS[1]), 0)
  if redis.call('ZADD', KEYS[3], 'NX', now + left + ARGV[3], ARGV[1]) == 1 then
    redis.call('RPUSH', KEYS[2], ARGV[1])
  end
  return left
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return nil
"""

FREE_FAIR = f"""{FAIR_HEAD}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
redis.call('DEL', KEYS[1])
if head then redis.call('PUBLISH', ARGV[3] .. head, '0') end
return 1
"""

TAKE_READ = """
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
  redis.call('HSET', KEYS[1], 'mode', 'read')
elseif mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then
  return redis.call('PTTL', KEYS[1])
end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('SET', KEYS[2] .. count, '1', 'PX', ARGV[2])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))
return nil
"""

FREE_READ = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if count == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('DEL', KEYS[2] .. count + 1)
if redis.call('HLEN', KEYS[1]) > 1 then
  local longest, fields = 0, redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    for hold = 1, tonumber(fields[i + 1]) or 0 do
      local key = ARGV[2] .. fields[i] .. ':rwlock_timeout:' .. hold
      longest = math.max(longest, redis.call('PTTL', key))
    end
  end
  if longest > 0 then redis.call('PEXPIRE', KEYS[1], longest) end
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[3], '0')
return 1
"""

TAKE_WRITE = """
local mode, mine = redis.call('HGET', KEYS[1], 'mode'), ARGV[1] .. ':write'
if not mode then
  redis.call('HSET', KEYS[1], 'mode', 'write', mine, 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return nil
end
if mode == 'read' or redis.call('HEXISTS', KEYS[1], mine) == 0 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('HINCRBY', KEYS[1], mine, 1)
redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[2])
return nil
"""

FREE_WRITE = """
local mine = ARGV[1] .. ':write'
if redis.call('HEXISTS', KEYS[1], mine) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], mine, -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
redis.call('HDEL', KEYS[1], mine)
if redis.call('HLEN', KEYS[1]) == 1 then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[2], '1')
else
  redis.call('HSET', KEYS[1], 'mode', 'read')
end
return 1
"""

TAKE_PERMIT = """
local free = redis.call('GET', KEYS[1])
if not free or tonumber(free) < tonumber(ARGV[1]) then return 0 end
redis.call('DECRBY', KEYS[1], ARGV[1])
return 1
"""

FREE_PERMIT = """
redis.call('PUBLISH', KEYS[2], redis.call('INCRBY', KEYS[1], ARGV[1]))
"""

TAKE_LEASED = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended = redis.call('ZRANGEBYSCORE', KEYS[2], 0, now, 'LIMIT', 0, 1)
if #ended > 0 then
  redis.call('ZREM', KEYS[2], ended[1])
  redis.call('PUBLISH', KEYS[3], redis.call('INCRBY', KEYS[1], 1))
end
local free = redis.call('GET', KEYS[1])
if not free or tonumber(free) < 1 then return nil end
redis.call('DECRBY', KEYS[1], 1)
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
return 'OK'
"""

FREE_LEASED = """
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('PUBLISH', KEYS[3], redis.call('INCRBY', KEYS[1], 1))
return 1
"""

SET_LATCH = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[2], '1')
return 1
"""

COUNT_LATCH = """
local left = redis.call('DECR', KEYS[1])
if left <= 0 then redis.call('DEL', KEYS[1]) end
if left == 0 then redis.call('PUBLISH', KEYS[2], '0') end
"""

SCRIPTS = (
    *(TAKE_FENCED, TAKE_FAIR, FREE_FAIR, TAKE_READ, FREE_READ, TAKE_WRITE, FREE_WRITE),
    *(TAKE_PERMIT, FREE_PERMIT, TAKE_LEASED, FREE_LEASED, SET_LATCH, COUNT_LATCH),
)
