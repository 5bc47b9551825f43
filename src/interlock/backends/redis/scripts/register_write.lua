-- register_write: replace one version of a text.
--
-- KEYS[1]  register  hash of a text and its version
-- ARGV[1]  text      what it says from now on
-- ARGV[2]  version   what must be there, 0 for nothing
-- ARGV[3]  keep_ms   how long it is kept
--
-- returns {1}  it is written
--         {0}  another version is there
--
-- Safe to repeat: the second one finds another version, and changes nothing.
--
-- A version is the server's clock in microseconds, or one more than the last: a text that ended
-- and was written anew has another.

local register = KEYS[1]
local text, version, keep_ms = ARGV[1], ARGV[2], ARGV[3]

local is = redis.call('HGET', register, 'version')
if (is or '0') ~= version then return {0} end
local time = redis.call('TIME')
local clock = time[1] .. string.format('%06d', time[2])
local following = string.format('%.0f', tonumber(version) + 1)
-- Both are whole numbers below 2^53; a longer text is a greater number.
if #clock > #following or (#clock == #following and clock > following) then following = clock end
redis.call('HSET', register, 'text', text, 'version', following)
redis.call('PEXPIRE', register, keep_ms)
return {1}
