-- register_read: the text of a name, and its version.
--
-- KEYS[1]  register  hash of a text and its version
--
-- returns {1, text, version}
--         {0}                 there is none
--
-- Safe to repeat: it changes nothing.

local register = KEYS[1]

local text = redis.call('HGET', register, 'text')
if not text then return {0} end
return {1, text, redis.call('HGET', register, 'version')}
