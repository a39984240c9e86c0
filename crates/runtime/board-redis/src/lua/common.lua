-- What every call begins with. The rules are those of the crate `ostler-board` (rules.rs, mail_rules.rs): a test compares
-- both, answer by answer.
--
-- KEYS[1] is the prefix of all keys of the board; they are in one hash slot.
-- ARGV: epoch, time (empty: the server's), client, number of the request, '1' if it is repeated, the run of the server
-- (empty: this user may not know it), six limits, action, and then what the action needs.
-- Answers: {'ok', ...}, {'no', reason, ...}, or {'gone'} if this is not the board that the client opened.

local call = redis.call
local K = KEYS[1]
local META = K .. ':meta'
local BOARD = call('HMGET', META, 'epoch', 'run')
if BOARD[1] ~= ARGV[1] then
  return {'gone'}
end

local now = tonumber(ARGV[2])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local MOST_LOSSES, MOST_HISTORY, MOST_TASKS = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local MOST_UNREAD, MOST_ARCHIVED, MOST_DELIVERIES = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local ACTION = ARGV[13]

-- Tasks or mail whose lease has ended, in one call: the server does nothing else meanwhile.
local MOST_EXPIRED = 1000

local function ring()
  call('PUBLISH', K .. ':bell', '1')
end

local function count(name, by)
  return call('HINCRBY', META, name, by)
end

-- A whole number as text; by itself, Lua would round a long one.
local function digits(number)
  return string.format('%.0f', number)
end

-- The next number of a kind of which none may be given out twice. A server that was started again, or that took the place
-- of another one, may have lost the last ones, so the numbers go on from the time in microseconds: no server gives out one
-- in each.
local function unique(name)
  if ARGV[6] ~= '' and BOARD[2] == ARGV[6] and call('HEXISTS', META, name) == 1 then
    return count(name, 1)
  end
  local time = call('TIME')
  local least = time[1] * 1000000 + time[2]
  for _, each in ipairs({'fence', 'delivery'}) do
    if least > tonumber(call('HGET', META, each) or 0) then
      call('HSET', META, each, least)
    end
  end
  if ARGV[6] ~= '' then
    call('HSET', META, 'run', ARGV[6])
  end
  return count(name, 1)
end

-- What an entry that cannot be read says of itself. Nothing of it is deleted, and everything else goes on.
local DAMAGED, MOST_DAMAGED = K .. ':damaged', 1000
local function set_aside(name, why)
  if call('HLEN', DAMAGED) < MOST_DAMAGED then
    call('HSETNX', DAMAGED, name, why)
  end
end

-- Nil if the key is of another type.
local function read(...)
  local found = redis.pcall(...)
  if type(found) == 'table' and found.err then
    return nil
  end
  return found
end

-- The last request of a client and what came of it. A client that got no answer repeats the request.
local LAST = K .. ':last:' .. ARGV[3]
local KEPT_MS = 120000

local function remember(what)
  call('SET', LAST, ARGV[4] .. ' ' .. what, 'PX', KEPT_MS)
end

local function remembered()
  if ARGV[5] ~= '1' then
    return nil
  end
  local kept = call('GET', LAST)
  if not kept then
    return nil
  end
  local number, what = string.match(kept, '^(%d+) (.*)$')
  if number == ARGV[4] then
    return what
  end
  return nil
end

local function encoded(name)
  return (string.gsub(name, '[^%w_.-]', function(letter)
    return string.format('%%%02X', string.byte(letter))
  end))
end
