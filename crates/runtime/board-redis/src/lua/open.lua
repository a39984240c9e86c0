-- KEYS[1]: the prefix of all keys. ARGV: the run of the server, the epoch of a new board, the format.
-- The board is made if there is none. Answers with its epoch and format.
local META = KEYS[1] .. ':meta'
if redis.call('EXISTS', META) == 0 then
  redis.call('HSET', META, 'epoch', ARGV[2], 'format', ARGV[3], 'run', ARGV[1], 'fence', 0, 'delivery', 0)
end
return redis.call('HMGET', META, 'epoch', 'format')
