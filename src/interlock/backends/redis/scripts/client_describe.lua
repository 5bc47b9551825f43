-- client_describe: read who a client is.
--
-- KEYS[1]  client  string, JSON
--
-- returns {1, person}  as it was introduced
--         {0}          it was not, or too long ago
--
-- Safe to repeat: it changes nothing.

local client = KEYS[1]

local person = redis.call('GET', client)
if not person then return {0} end
return {1, person}
