-- permits_attempt: grant permits to an owner, or say who holds them and remember a waiter.
--
-- KEYS[1]  permits   string, how many are free, Redisson's
-- KEYS[2]  holders   sorted set of what is held, by the end of its lease in ms: owner*weight;
--                    of leased semaphores it is Redisson's, and holds ids of 16 bytes
-- KEYS[3]  others    what would be the holders if the name were the other kind of semaphore
-- KEYS[4]  marker    string, the kind, and how many permits there are in all
-- KEYS[5]  queue     sorted set of waiters, by arrival: owner*weight, or owner*id in hex digits;
--                    it expires
-- KEYS[6]  tomb      there when this owner was withdrawn
-- KEYS[7]  tokens    the last fencing token of this node
-- ARGV[1]  kind      semaphore or leased_semaphore
-- ARGV[2]  mark      the digit that ends the owners of this kind, 7 or 8
-- ARGV[3]  waiter    who asks, as it stands in the queue
-- ARGV[4]  lease_ms  length of the lease
-- ARGV[5]  waits     1 when the owner listens and is to be remembered
-- ARGV[6]  share     who asks, as it would stand among the holders
--
-- returns {1, token}                     granted
--         {0, holder, left_ms, foreign}  busy; left_ms is -1 when nothing is known to end,
--                                        foreign is 1 when not only clients of ours hold some
--         {2}                            this owner is buried
--         {4}                            no permits are set, or the name is something else
--         {5}                            leases have ended or others are due: permits_release
--
-- Safe to repeat: an owner that holds already is granted again, with a newer token and no
-- further permits, and an owner that waits already keeps its place.

local permits, holders, others, marker = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local queue, tomb, tokens = KEYS[5], KEYS[6], KEYS[7]
local kind, mark, waiter, lease_ms, waits = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local share = ARGV[6]
local call, time, leased = redis.call, redis.call('TIME'), mark == '8'
local micros, now = time[1] * 1000000 + time[2], time[1] * 1000 + math.floor(time[2] / 1000)
local function weight(each) return leased and 1 or tonumber(string.match(each, '%d+$')) end

if call('EXISTS', tomb) == 1 then return {2} end
local free = tonumber(string.match(call('GET', permits) or '', '^-?%d+$'))
local made = call('GET', marker)
local total = tonumber(string.match(made or '', '^' .. kind .. ' (%d+)$'))
if not free or made and not total or not made and call('EXISTS', others) == 1 then return {4} end
local held = tonumber(call('ZSCORE', holders, share) or 0) > now
if not held then
  if call('ZCOUNT', holders, 0, now) > 0 then return {5} end
  local head = call('ZRANGE', queue, 0, 0)[1]
  -- What waits for another kind of thing was left behind here, and is no waiter.
  local client = head ~= waiter and string.match(head or '', '^([%x-]+):%d*' .. mark .. '%*')
  local deaf = client and call('PUBSUB', 'NUMSUB', 'interlock:wake:' .. client)[2] == 0
  if client and (deaf or free >= weight(head)) then return {5} end
  if client or free < weight(waiter) then
    local near, known = call('ZRANGE', holders, 0, 0, 'WITHSCORES'), waits == '1' and free or total
    if waits == '1' then
      local at = math.max(micros, (call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0) + 1)
      -- Who waits already needs no memory.
      if not call('ZSCORE', queue, waiter) then call('ZADD', queue, at, waiter) end
      call('PEXPIRE', queue, 10000) -- every waiter asks again long before that
      -- Ids of ours: a client of version 8, and a number of less than six bytes.
      local ours = leased and '^......[\128-\143].[\128-\191].%z' or ''
      for _, each in ipairs(call('ZRANGE', holders, 0, -1)) do
        if string.find(each, ours) then known = known + weight(each) end
      end
    end
    return {0, near[1] or '', (near[2] or now - 1) - now, (not total or known < total) and 1 or 0}
  end
end

-- Who waits, or was handed permits, claims them though memory is short: a script that has written
-- is not stopped by maxmemory.
if held or call('ZSCORE', queue, waiter) then call('ZREM', queue, waiter) end
-- The token first: if it cannot be had, nothing is granted.
local token = string.format('%.0f', math.max(micros, (call('GET', tokens) or 0) + 1))
call('SET', tokens, token)
if not held then call('DECRBY', permits, weight(waiter)) end
call('ZADD', holders, now + lease_ms, share)
-- Permits that Java has given an end take their holders along.
if call('PTTL', permits) > 0 then call('PEXPIRE', holders, call('PTTL', permits)) end
return {1, token}
