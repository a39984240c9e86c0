-- What every call begins with. The rules are those of the crate `ostler-board` (rules.rs, mail_rules.rs): a test compares
-- both, answer by answer.
--
-- KEYS[1] is the prefix of all keys of the board; they are in one hash slot.
-- ARGV: epoch, time (empty: the server's), client, number of the request, '1' if it is repeated, six limits, action, and
-- then what the action needs.
-- Answers: {'ok', ...}, {'no', reason, ...}, or {'gone'} if this is not the board that the client opened.

local call = redis.call
local K = KEYS[1]
local META = K .. ':meta'
if call('HGET', META, 'epoch') ~= ARGV[1] then
  return {'gone'}
end

local now = tonumber(ARGV[2])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local MOST_LOSSES, MOST_HISTORY, MOST_TASKS = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local MOST_UNREAD, MOST_ARCHIVED, MOST_DELIVERIES = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local ACTION = ARGV[12]

-- Tasks or mail whose lease has ended, in one call: the server does nothing else meanwhile.
local MOST_EXPIRED = 1000

local function ring()
  call('PUBLISH', K .. ':bell', '1')
end

local function count(name, by)
  return call('HINCRBY', META, name, by)
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
