-- server_examine: tell what a server says of itself, as far as this user may ask.
--
-- returns {1, clock, text}  the server's clock, in microseconds, and some sections of INFO
--         {0}               this user may not ask
--
-- Safe to repeat: it changes nothing.

-- Where rights can be looked at, a user without them leaves no trace in the server's log.
if redis.acl_check_cmd and not redis.acl_check_cmd('INFO') then return {0} end
local text = ''
for _, section in ipairs({'server', 'memory', 'persistence', 'replication'}) do
  local said = redis.pcall('INFO', section)
  if type(said) ~= 'string' then return {0} end
  text = text .. said
end
local time = redis.call('TIME')
return {1, string.format('%.0f', time[1] * 1000000 + time[2]), text}
