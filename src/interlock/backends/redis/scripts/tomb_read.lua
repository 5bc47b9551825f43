-- tomb_read: tell why an owner was withdrawn.
--
-- KEYS[1]  tomb  there when the owner was withdrawn; its text is the reason
--
-- returns {1, reason}  as it was given, perhaps empty
--         {0}          it was not withdrawn
--
-- Safe to repeat: it changes nothing.

local tomb = KEYS[1]

local reason = redis.call('GET', tomb)
if not reason then return {0} end
return {1, reason}
