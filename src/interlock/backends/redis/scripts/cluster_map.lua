-- cluster_map: tell which nodes of a cluster serve which slots.
--
-- returns {1, sharded, slots}  sharded is 1 where channels can be those of a slot; slots as
--                              CLUSTER SLOTS has them
--
-- Safe to repeat: it changes nothing.

-- A server that does not know the question answers with an error, which is a table with a text.
local known = redis.pcall('PUBSUB', 'SHARDNUMSUB')
return {1, known.err and 0 or 1, redis.call('CLUSTER', 'SLOTS')}
