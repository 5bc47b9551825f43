-- permits_release: take back what an owner holds, and whatever has ended, and hand it over.
--
-- KEYS[1]  permits  string, how many are free, Redisson's
-- KEYS[2]  holders  sorted set of what is held, by the end of its lease in ms: see permits_attempt
-- KEYS[3]  queue    sorted set of waiters, by arrival
-- KEYS[4]  tomb     there for a while after a withdrawal, so that a late question is refused
-- ARGV[1]  mark     the digit that ends the owners of this kind, 7 or 8
-- ARGV[2]  waiter   who gives back, as it would stand in the queue, or who asks: then only
--                   what has ended is taken back, and only those are served who came before
-- ARGV[3]  channel  where Redisson's waiters listen
-- ARGV[4]  tomb_ms  how long a withdrawn owner stays refused; 0 for one that only gives back,
--                   empty for one that asks
-- ARGV[5]  reason   why it is withdrawn, for its holder to read; may be empty
--
-- returns {1}  released
--         {0}  the owner did not hold anything, or not any more
--
-- Safe to repeat: the second time the owner does not hold anything, and its tomb is set again.

local permits, holders, queue, tomb = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mark, waiter, channel, tomb_ms, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local wake, provisional_ms = 'interlock:wake:', 2000
local call, time, leased = redis.call, redis.call('TIME'), mark == '8'
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function byte(digits) return string.char(tonumber(digits, 16)) end
local function share(each) return leased and each:sub(-32):gsub('..', byte) or each end
local function weight(each) return leased and 1 or tonumber(string.match(each, '%d+$')) end

if tomb_ms ~= '0' and tomb_ms ~= '' then
  call('ZREM', queue, waiter) -- first: a script that has written is not stopped by maxmemory
  call('SET', tomb, reason, 'PX', tomb_ms)
end
local ends = tomb_ms ~= '' and call('ZSCORE', holders, share(waiter))
if not ends and tomb_ms == '0' then return {0} end
local freed = ends and call('ZREM', holders, share(waiter)) * weight(waiter) or 0
for _, each in ipairs(call('ZRANGEBYSCORE', holders, 0, now)) do freed = freed + weight(each) end
call('ZREMRANGEBYSCORE', holders, 0, now)
-- Where the name has become something else there is nothing to give it back to.
local free = tonumber(string.match(tostring(redis.pcall('GET', permits)), '^-?%d+$'))
local mine, shared, at = '^(([%x-]+):%d*' .. mark .. ')%*', false, 0
if free and freed > 0 then
  free = call('INCRBY', permits, freed)
  -- Where Java waits too, permits stay free for the first that comes, so that neither side
  -- starves; our first waiters are told all the same.
  shared = free > 0 and call('PUBLISH', channel, free) > 0
end
while free do
  local head = call('ZRANGE', queue, at, at)[1]
  local owner, client = string.match(head ~= waiter and head or '', mine)
  local fits = owner and free >= weight(head)
  local deaf = owner and not fits and call('PUBSUB', 'NUMSUB', wake .. client)[2] == 0
  if not (fits or deaf) then break end -- no waiter overtakes
  if deaf or call('PUBLISH', wake .. client, owner) == 0 then
    call('ZREM', queue, head)
  elseif shared then
    free, at = free - weight(head), at + 1
  else
    call('ZREM', queue, head)
    call('ZADD', holders, now + provisional_ms, share(head))
    free = call('DECRBY', permits, weight(head))
  end
end
return {ends and tonumber(ends) > now and 1 or 0}
