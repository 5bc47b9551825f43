-- barrier_release: let a party go, whatever the others do, or withdraw one; the last one tells all.
--
-- KEYS[1]  barrier  sorted set of the parties that gather or are inside, by the end of their leases
-- KEYS[2]  done     the same of those that have done what they came for
-- KEYS[3]  marker   string, what the name is
-- KEYS[4]  queue    sorted set of the parties that wait for the next time
-- KEYS[5]  tomb     of a withdrawal: it will be there for a while, so that a late question is refused
-- ARGV[1]  owner    who goes, or is withdrawn; empty where only those are to be told that wait
-- ARGV[2]  tomb_ms  of a withdrawal: how long the owner stays refused; else 0
-- ARGV[3]  reason   of a withdrawal: why, for its holder to read; may be empty
--
-- returns {1}  it was there
--         {0}  it was not
--
-- Safe to repeat: the second time the owner is not there, and its tomb is set again.

local barrier, done, marker, queue, tomb = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3]
local wake, call = 'interlock:wake:', redis.call

if tomb_ms ~= '0' then
  call('ZREM', queue, owner) -- first: a script that has written is not stopped by maxmemory
  call('SET', tomb, reason, 'PX', tomb_ms)
end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kind = call('TYPE', barrier).ok
if kind ~= 'zset' and kind ~= 'none' then return {0} end
call('ZREMRANGEBYSCORE', barrier, '-inf', now)
call('ZREMRANGEBYSCORE', done, '-inf', now)
local was = call('ZREM', barrier, owner) + call('ZREM', done, owner)
if was == 0 and owner ~= '' then return {0} end
if call('ZCARD', barrier) == 0 then
  for _, place in ipairs({done, queue}) do
    for _, each in ipairs(call('ZRANGE', place, 0, -1)) do
      call('PUBLISH', wake .. string.match(each, '^(.*):'), each)
    end
  end
  call('DEL', done, marker, queue)
end
return {1}
