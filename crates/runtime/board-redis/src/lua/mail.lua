local UNREAD, DELIVERED, ACKNOWLEDGED, BOUNCED, DEAD = 0, 1, 2, 3, 4
local POSTMASTER, GROUP = 'ostler', 'readers'
local ALL, OPEN, ARCHIVE, LEASES = K .. ':mail', K .. ':open', K .. ':archive', K .. ':mailleases'
local NUMBERS, LEADS, FINISHED = K .. ':numbers', K .. ':leads', K .. ':finished'
-- Mails that one call bounces, or looks at.
local MOST_BOUNCED, MOST_BYTES = 500, 4194304

local function key_of(id)
  return K .. ':m:' .. encoded(id)
end

-- A stream of the mails that are not settled, in the order in which they were sent.
local function box(name)
  return K .. ':box:' .. encoded(name)
end

-- Mails that were delivered and came back. They are older than what the group has not delivered yet.
local function returned(name)
  return K .. ':back:' .. encoded(name)
end

local function pair(from, to)
  return K .. ':pair:' .. encoded(from) .. ':' .. encoded(to)
end

-- Nil if there is none, or if it cannot be read: then it is set aside.
local function load(id)
  local row = read('HMGET', key_of(id), 'st', 'd', 'u', 'c', 'q', 'f', 't', 'n', 'b', 'at')
  if row and not row[1] and call('EXISTS', key_of(id)) == 0 then
    return nil
  end
  local is_whole = row and row[6] and row[7] and row[9]
  for _, at in ipairs({1, 2, 3, 4, 5, 8, 10}) do
    is_whole = is_whole and row[at] and string.match(row[at], '^%d+$')
  end
  if not is_whole or tonumber(row[1]) > DEAD then
    set_aside('mail ' .. id, row and 'some of its fields are missing or wrong' or 'it is of another type')
    call('ZREM', OPEN, id)
    call('ZREM', LEASES, id)
    return nil
  end
  return {
    id = id, status = tonumber(row[1]), token = tonumber(row[2]), lease_until = tonumber(row[3]),
    deliveries = tonumber(row[4]), seq = tonumber(row[5]), from = row[6], to = row[7],
  }
end

local function is_finished(name)
  return call('SISMEMBER', FINISHED, name) == 1
end

local function insert(mail)
  local number = call('HINCRBY', NUMBERS, mail.from .. '\0' .. mail.to, 1)
  local seq = count('mails', 1)
  local fields = {'HSET', key_of(mail.id), 'q', seq, 'id', mail.id, 'f', mail.from, 't', mail.to, 'n', number, 'b', mail.text,
    'st', UNREAD, 'at', now, 'd', 0, 'u', 0, 'c', 0}
  if mail.in_reply_to then
    fields[#fields + 1] = 'r'
    fields[#fields + 1] = mail.in_reply_to
  end
  call(unpack(fields))
  call('XADD', box(mail.to), seq .. '-1', 'id', mail.id)
  call('ZADD', ALL, seq, mail.id)
  call('ZADD', OPEN, seq, mail.id)
  call('ZADD', pair(mail.from, mail.to), seq, mail.id)
  return {id = mail.id, status = UNREAD, token = 0, lease_until = 0, deliveries = 0, seq = seq, from = mail.from, to = mail.to}
end

-- Takes it out of the mailbox. The archive drops its oldest.
local function archive(mail)
  local key, entry = box(mail.to), mail.seq .. '-1'
  call('XACK', key, GROUP, entry)
  call('XDEL', key, entry)
  if is_finished(mail.to) and call('XLEN', key) == 0 then
    call('DEL', key)
  end
  call('ZREM', returned(mail.to), mail.id)
  call('ZREM', OPEN, mail.id)
  call('ZREM', pair(mail.from, mail.to), mail.id)
  local place = count('archived', 1)
  call('ZADD', ARCHIVE, place, mail.id)
  local last = place - MOST_ARCHIVED
  if last > 0 then
    for _, id in ipairs(call('ZRANGEBYSCORE', ARCHIVE, '-inf', last)) do
      call('DEL', key_of(id))
      call('ZREM', ALL, id)
    end
    call('ZREMRANGEBYSCORE', ARCHIVE, '-inf', last)
  end
end

-- Tells the sender and the lead that a mail was not read. A notice itself is told to nobody.
local function notify(mail, why)
  if mail.from == POSTMASTER then
    return
  end
  local readers = {mail.from}
  local lead = call('HGET', LEADS, mail.to)
  if lead and lead ~= mail.from then
    readers[2] = lead
  end
  for number, reader in ipairs(readers) do
    local id = mail.id .. '-bounce-' .. (number - 1)
    local is_silent = is_finished(reader) or call('XLEN', box(reader)) >= MOST_UNREAD or reader == mail.to
    if not is_silent and call('EXISTS', key_of(id)) == 0 then
      local text = 'Mail ' .. mail.id .. ' from ' .. mail.from .. ' to ' .. mail.to .. ' was not read: ' .. why .. '.'
      insert({id = id, from = POSTMASTER, to = reader, in_reply_to = mail.id, text = text})
    end
  end
end

local function settle(mail, status, why)
  call('HSET', key_of(mail.id), 'st', status, 'u', 0)
  call('ZREM', LEASES, mail.id)
  if why then
    call('HSET', key_of(mail.id), 'w', why)
  end
  archive(mail)
  if why then
    notify(mail, why)
  end
end

local function bounce(mail)
  settle(mail, BOUNCED, mail.to .. ' has finished')
end

local function give_back(mail)
  call('HSET', key_of(mail.id), 'st', UNREAD, 'u', 0)
  call('ZREM', LEASES, mail.id)
  call('ZADD', returned(mail.to), mail.seq, mail.id)
end

-- Back into the mailbox, or given up.
local function fail(mail, why)
  if mail.deliveries >= MOST_DELIVERIES then
    settle(mail, DEAD, 'given up after ' .. mail.deliveries .. ' deliveries: ' .. why)
    return
  end
  give_back(mail)
end

local function expire()
  for _, id in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, MOST_EXPIRED)) do
    local mail = load(id)
    if mail and mail.status == DELIVERED and mail.lease_until <= now then
      fail(mail, 'its reader did not settle it in time')
    else
      call('ZREM', LEASES, id)
    end
  end
end

-- It bounces at once if nobody will read it. Nil: the mailbox is full.
local function post(mail, most_unread)
  if call('XLEN', box(mail.to)) >= most_unread then
    return nil
  end
  local new = insert(mail)
  if is_finished(mail.to) then
    local most = MOST_UNREAD
    MOST_UNREAD = most_unread
    bounce(new)
    MOST_UNREAD = most
  end
  return new
end

local function lag(from, to)
  local key = pair(from, to)
  local oldest = call('ZRANGE', key, 0, 0)[1]
  return call('ZCARD', key), oldest and read('HGET', key_of(oldest), 'at')
end

local action = {}

-- id, from, to, '1' if it answers a mail, that mail, text
function action.send(id, from, to, is_reply, in_reply_to, text)
  local key = key_of(id)
  local known = call('HMGET', key, 'f', 't', 'b')
  if known[1] and (known[1] ~= from or known[2] ~= to or known[3] ~= text) then
    return {'no', 'mail_exists', id}
  elseif not known[1] then
    local mail = {id = id, from = from, to = to, text = text, in_reply_to = is_reply == '1' and in_reply_to}
    if not post(mail, MOST_UNREAD) then
      return {'no', 'full', to, call('XLEN', box(to))}
    end
    ring()
  end
  local behind, oldest = lag(from, to)
  local row = call('HMGET', key, 'n', 'st', 'w')
  -- An archive without room has dropped a mail that bounced.
  return {'ok', row[1] or '0', row[2] or BOUNCED, row[3], behind, oldest}
end

local function deliver(mail, lease)
  local token = unique('delivery')
  local key, lease_until = key_of(mail.id), now + tonumber(lease)
  call('HSET', key, 'st', DELIVERED, 'd', token, 'u', lease_until, 'c', mail.deliveries + 1)
  call('ZADD', LEASES, lease_until, mail.id)
  call('ZREM', returned(mail.to), mail.id)
  remember(digits(token) .. ' ' .. mail.id)
  return {'ok', now, call('HGETALL', key)}
end

-- The oldest unread mail, from the group of the stream.
local function take_next(who)
  local key = box(who)
  while true do
    local id = call('ZRANGE', returned(who), 0, 0)[1]
    if id then
      local mail = load(id)
      if mail then
        call('XCLAIM', key, GROUP, who, 0, mail.seq .. '-1')
        return mail
      end
      call('ZREM', returned(who), id)
    else
      if call('EXISTS', key) == 0 then
        return nil
      end
      local read = redis.pcall('XREADGROUP', 'GROUP', GROUP, who, 'COUNT', 1, 'STREAMS', key, '>')
      if type(read) == 'table' and read.err then
        if not string.find(read.err, 'NOGROUP', 1, true) then
          return read
        end
        call('XGROUP', 'CREATE', key, GROUP, '0')
        read = call('XREADGROUP', 'GROUP', GROUP, who, 'COUNT', 1, 'STREAMS', key, '>')
      end
      if not read then
        return nil
      end
      local entry, fields = read[1][2][1][1], read[1][2][1][2]
      local id = fields and fields[1] == 'id' and fields[2]
      local mail = id and load(id)
      if mail and mail.status == UNREAD then
        return mail
      elseif not mail then
        -- Not one of ours, or damaged: the queue goes on.
        call('XACK', key, GROUP, entry)
        call('XDEL', key, entry)
        set_aside('mail ' .. (id or 'entry ' .. entry .. ' for ' .. who), 'it is gone, or none of ours')
      end
    end
  end
end

-- who, lease
function action.receive(who, lease)
  local kept = remembered()
  if kept then
    local token, id = string.match(kept, '^(%d+) (.*)$')
    local mail = token and load(id)
    if mail and mail.status == DELIVERED and mail.token == tonumber(token) then
      return {'ok', now, call('HGETALL', key_of(id))}
    end
  end
  expire()
  local mail = take_next(who)
  if not mail then
    return {'ok'}
  elseif mail.err then
    return mail
  end
  return deliver(mail, lease)
end

-- id, token, outcome, text
function action.settle(id, token, outcome, text)
  token = tonumber(token)
  local mail = load(id)
  if not mail then
    return {'no', 'no_mail', id}
  end
  local is_same = token ~= 0 and mail.token == token
  if outcome ~= 'failed' and is_same and mail.status == ACKNOWLEDGED then
    return {'ok'}
  elseif outcome == 'failed' and remembered() == 'failed ' .. id then
    return {'ok'}
  elseif not is_same or mail.status ~= DELIVERED or mail.lease_until <= now then
    return {'no', 'stale_delivery', id}
  elseif outcome == 'replied' and mail.from == POSTMASTER then
    return {'no', 'no_reply', id}
  end
  if outcome == 'failed' then
    fail(mail, text)
    remember('failed ' .. id)
  else
    settle(mail, ACKNOWLEDGED)
  end
  -- What a reader says must not be lost because the sender reads slowly.
  local reply = id .. '-reply'
  if outcome == 'replied' and call('EXISTS', key_of(reply)) == 0 then
    post({id = reply, from = mail.to, to = mail.from, in_reply_to = id, text = text}, math.huge)
  end
  ring()
  return {'ok'}
end

-- name, 'started' or 'finished', '1' if it has a lead, lead. Answers with the number of mails that still have to bounce.
function action.agent(name, what, has_lead, lead)
  if what == 'started' then
    call('SREM', FINISHED, name)
    if has_lead == '1' then
      call('HSET', LEADS, name, lead)
    else
      call('HDEL', LEADS, name)
    end
    -- What an earlier process of this agent had in hand.
    for _, id in ipairs(call('ZRANGE', LEASES, 0, -1)) do
      local mail = load(id)
      if mail and mail.to == name and mail.status == DELIVERED then
        give_back(mail)
      end
    end
    ring()
    return {'ok', 0}
  end
  call('SADD', FINISHED, name)
  for _, entry in ipairs(call('XRANGE', box(name), '-', '+', 'COUNT', MOST_BOUNCED)) do
    local mail = load(entry[2][2])
    if mail then
      bounce(mail)
    else
      call('XDEL', box(name), entry[1])
    end
  end
  ring()
  return {'ok', call('XLEN', box(name))}
end

function action.lag(from, to)
  local behind, oldest = lag(from, to)
  return {'ok', behind, oldest}
end

-- The place after which to go on. Answers with the place where to go on, if there is more, and for each recipient its name,
-- how much is unread, how much is delivered, and when the oldest was sent.
function action.backlog(after)
  if after == '0' then
    expire()
  end
  local some = call('ZRANGEBYSCORE', OPEN, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_BOUNCED)
  local boxes, by_name = {}, {}
  for at = 1, #some, 2 do
    after = some[at + 1]
    local row = load(some[at]) and call('HMGET', key_of(some[at]), 't', 'st', 'at')
    if row then
      local own = by_name[row[1]]
      if not own then
        own = {row[1], 0, 0, row[3]}
        by_name[row[1]] = own
        boxes[#boxes + 1] = own
      end
      local place = tonumber(row[2]) == UNREAD and 2 or 3
      own[place] = own[place] + 1
    end
  end
  return {'ok', #some == 2 * MOST_BOUNCED and after or '', boxes}
end

-- from, to, '1' with the archive, the place after which to go on, how many. Names begin with '=': they may be left out.
-- Answers with the place where to go on, if there is more.
function action.peek(from, to, with_archive, after, size)
  size = tonumber(size)
  local key = with_archive == '1' and ALL or OPEN
  local some = call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
  local mails, bytes = {}, 0
  for at = 1, #some, 2 do
    after = some[at + 1]
    local mail = load(some[at])
    local row = mail and {mail.from, mail.to} or {}
    local fits = row[1] and (from == '' or from == '=' .. row[1]) and (to == '' or to == '=' .. row[2])
    if fits and #mails < size then
      mails[#mails + 1] = call('HGETALL', key_of(some[at]))
      bytes = bytes + call('HSTRLEN', key_of(some[at]), 'b')
    end
    if #mails >= size or bytes > MOST_BYTES then
      return {'ok', after, mails}
    end
  end
  return {'ok', #some == 1000 and after or '', mails}
end

return action[ACTION](unpack(ARGV, 14))
