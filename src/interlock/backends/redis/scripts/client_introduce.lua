-- client_introduce: write down who a client is, so that others can tell who holds a lock.
--
-- KEYS[1]  client  string, JSON; it expires
-- ARGV[1]  person  host, pid, program and start, as JSON
-- ARGV[2]  ttl_ms  how long to remember
--
-- returns {1}
--
-- Safe to repeat: it is written again.

local client = KEYS[1]
local person, ttl_ms = ARGV[1], ARGV[2]

redis.call('SET', client, person, 'PX', ttl_ms)
return {1}
