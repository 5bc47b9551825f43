-- names_walk: find some keys of the database; begin and end with cursor 0.
--
-- ARGV[1]  cursor  where the walk has come to
-- ARGV[2]  count   about how many keys to look at
--
-- returns {1, cursor, key, ...}  where to go on, and the keys that were met
--
-- Safe to repeat: it changes nothing.

local cursor, count = ARGV[1], ARGV[2]

local found = redis.call('SCAN', cursor, 'COUNT', count)
local answer = {1, found[1]}
for i, key in ipairs(found[2]) do answer[i + 2] = key end
return answer
