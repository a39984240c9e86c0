local PENDING, IN_PROGRESS, DONE, FAILED, PARKED, CANCELLED = 0, 1, 2, 3, 4, 5
local TASK, HISTORY, WAITING = K .. ':t:', K .. ':h:', K .. ':w:'
local IDS, READY, LEASES, HELD = K .. ':ids', K .. ':ready', K .. ':leases', K .. ':held'
local GLOBS, GLOB_SETS = K .. ':globs', K .. ':globsets'
-- What happened to tasks, for other programs; the oldest is dropped. Nothing of ours depends on it.
local EVENTS, MOST_EVENTS = K .. ':events', 10000
-- Tasks that were finished lately, by the time, to count them.
local FINISHES, LATELY_MS = K .. ':finishes', 300000
-- Lower is handed out earlier.
local RANK = 1e13

local function by_status(status)
  return K .. ':s:' .. status
end

-- A JSON list, from what begins it: what is inside is read where it is needed.
local function is_list(text)
  return text and string.sub(text, 1, 1) == '[' and string.sub(text, -1) == ']'
end

-- Out of every list, so that nobody meets it again.
local function quarantine(id, why)
  set_aside('task ' .. id, why)
  for status = PENDING, CANCELLED do
    call('ZREM', by_status(status), id)
  end
  call('ZREM', LEASES, id)
  call('HDEL', HELD, id)
  local from, members = 0, nil
  repeat
    members = call('ZRANGE', READY, from, from + 999)
    for _, member in ipairs(members) do
      if string.sub(member, 1, #id + 1) == id .. ' ' then
        call('ZREM', READY, member)
        from = from - 1
      end
    end
    from = from + 1000
  until #members < 1000
end

-- A number that is not negative; nil if it is something else.
local function number(text)
  return text and string.match(text, '^%d+$') and tonumber(text)
end

-- Nil if it cannot be read; then it is set aside.
local function load(id)
  local row = read('HMGET', TASK .. id, 'st', 'f', 'u', 'a', 'l', 'q', 'p', 'g', 'w', 'wk', 'title', 'deps', 'touches')
  if not row or not row[1] then
    quarantine(id, row and 'it is gone' or 'it is of another type')
    return nil
  end
  local task = {
    id = id,
    status = number(row[1]), fence = number(row[2]), lease_until = number(row[3]),
    attempt = number(row[4]), losses = number(row[5]), seq = number(row[6]),
    priority = number(row[7]), globs = row[8], waits_for = number(row[9]), worker = row[10],
  }
  local has_numbers = task.status and task.fence and task.lease_until and task.attempt and task.losses and task.seq
    and task.priority and task.waits_for and task.status <= CANCELLED
  local has_lists = row[11] and is_list(row[12]) and is_list(row[13])
  if not has_numbers or not has_lists or not task.globs or not string.match(task.globs, '^%d*$') then
    quarantine(id, 'some of its fields are missing or wrong')
    return nil
  end
  return task
end

-- Its place among the tasks that can be claimed: what it touches is part of it, so that a search reads nothing else.
local function ready_member(task)
  return task.id .. ' ' .. task.globs
end

local function set_ready(task)
  call('ZADD', READY, task.priority * RANK + task.seq, ready_member(task))
end

local function trim_events()
  read('XTRIM', EVENTS, 'MAXLEN', '~', MOST_EVENTS)
end

local function announce(id, event, fence, worker)
  if worker then
    read('XADD', EVENTS, '*', 'task', id, 'event', event, 'fence', fence, 'worker', worker)
  else
    read('XADD', EVENTS, '*', 'task', id, 'event', event, 'fence', fence)
  end
end

-- An entry of the history: time, event, fence, and a text after '=' if there is one.
local function record(id, event, fence, text, at)
  local key = HISTORY .. id
  local entry = at .. ' ' .. event .. ' ' .. digits(fence) .. (text and ' =' .. text or '')
  local length = read('RPUSH', key, entry)
  if not length then
    call('RENAME', key, K .. ':damaged:h:' .. id)
    length = call('RPUSH', key, entry)
  end
  -- The first entry of every history is not stored: the task knows when it was added.
  if length > MOST_HISTORY - 1 then
    call('LTRIM', key, length - MOST_HISTORY + 1, -1)
  end
  announce(id, event, fence, (event == 'claimed' or event == 'lease_expired') and text)
end

local function unblock_dependents(id)
  for _, other in ipairs(read('LRANGE', WAITING .. id, 0, -1) or {}) do
    local left = read('HINCRBY', TASK .. other, 'w', -1)
    local task = (not left or left <= 0) and load(other)
    if task and task.status == PENDING and task.waits_for == 0 then
      set_ready(task)
    end
  end
  call('DEL', WAITING .. id)
end

-- Writes a new state: `to` has what changes. False removes a text.
local function write(task, to, at)
  local key = TASK .. task.id
  local status = to.status or task.status
  local lease_until = (status == IN_PROGRESS) and (to.lease_until or task.lease_until) or 0
  if to.worker then
    call('HSET', key, 'st', status, 'ch', at, 'u', lease_until, 'f', to.fence, 'a', to.attempt, 'wk', to.worker)
  else
    call('HSET', key, 'st', status, 'ch', at, 'u', lease_until, 'l', to.losses or task.losses)
  end
  if to.result then
    call('HSET', key, 'res', to.result)
  elseif to.result == false then
    call('HDEL', key, 'res')
  end
  if to.error then
    call('HSET', key, 'err', to.error)
  elseif to.error == false then
    call('HDEL', key, 'err')
  end
  if status ~= task.status then
    call('ZREM', by_status(task.status), task.id)
    call('ZADD', by_status(status), task.seq, task.id)
    if task.waits_for == 0 and task.status == PENDING then
      call('ZREM', READY, ready_member(task))
    elseif task.waits_for == 0 and status == PENDING then
      set_ready(task)
    end
    if task.globs ~= '' and status == IN_PROGRESS then
      call('HSET', HELD, task.id, task.globs)
    elseif task.globs ~= '' and task.status == IN_PROGRESS then
      call('HDEL', HELD, task.id)
    end
  end
  if status == IN_PROGRESS then
    call('ZADD', LEASES, lease_until, task.id)
  elseif task.status == IN_PROGRESS then
    call('ZREM', LEASES, task.id)
  end
  if status == DONE then
    unblock_dependents(task.id)
    read('ZADD', FINISHES, at, task.id)
    read('ZREMRANGEBYSCORE', FINISHES, '-inf', at - LATELY_MS)
  end
  if to.event then
    record(task.id, to.event, to.fence or 0, to.text, at)
  end
end

local function expire_task(task)
  local losses = task.losses + 1
  -- It is over since then, whoever notices it when.
  local at = math.min(task.lease_until, now)
  local worker = task.worker or ''
  if losses >= MOST_LOSSES then
    local reason = losses .. ' workers in a row lost their lease on it, the last was ' .. worker
    write(task, {status = PARKED, losses = losses, error = reason, event = 'parked', text = reason}, at)
  else
    local to = {status = PENDING, losses = losses, event = 'lease_expired', fence = task.fence, text = worker}
    write(task, to, at)
  end
end

local function has_lapsed(task)
  return task.status == IN_PROGRESS and task.lease_until <= now
end

-- Returns every task whose lease has ended. Says whether there was one.
local function expire()
  local ids = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, MOST_EXPIRED)
  for _, id in ipairs(ids) do
    local task = load(id)
    if task and has_lapsed(task) then
      expire_task(task)
    else
      call('ZREM', LEASES, id)
    end
  end
  return #ids > 0
end

-- What cannot be read will not be done by itself.
local function needed(id)
  local is_readable, names = pcall(cjson.decode, read('HGET', TASK .. id, 'deps') or '')
  if not is_readable or type(names) ~= 'table' then
    quarantine(id, 'what it depends on cannot be read')
    return {}
  end
  local all = {}
  for at, other in ipairs(names) do
    other = tostring(other)
    local row = read('HMGET', TASK .. other, 'st', 'err')
    local status = row and number(row[1])
    if status and status <= CANCELLED then
      all[at] = {other, row[1], row[2]}
    else
      all[at] = {other, PARKED, 'its entry on the server is damaged'}
    end
  end
  return all
end

-- Globs arrive as paths: lists of segments, each 0 for `**` or a list of pieces, each 0 for `*`, 1 for `?`, or a character.
local function make_overlap()
  -- A row in which a run of `b` may also stand for nothing, and so take over its left neighbour.
  local function meet(a, b, is_run, fit)
    local row, seen = {[0] = true}, true
    for at = 1, #b do
      seen = seen and is_run(b[at])
      row[at] = seen
    end
    for _, one in ipairs(a) do
      local next_row, any = {}, false
      for at = 0, #b do
        if is_run(one) then
          any = any or row[at]
          next_row[at] = any
        elseif at == 0 then
          next_row[at] = false
        elseif is_run(b[at]) then
          next_row[at] = row[at] or next_row[at - 1]
        else
          next_row[at] = row[at - 1] and fit(one, b[at])
        end
      end
      row = next_row
    end
    return row[#b]
  end

  local function is_zero(value)
    return value == 0
  end

  local function pieces_fit(a, b)
    return a == 1 or b == 1 or a == b
  end

  local function names_fit(a, b)
    return meet(a, b, is_zero, pieces_fit)
  end

  local parsed = {}
  local function paths(globs)
    if not parsed[globs] then
      local is_readable, found = pcall(cjson.decode, read('HGET', GLOBS, globs) or '')
      if not is_readable or type(found) ~= 'table' then
        -- Whatever they were: all files.
        set_aside('globs ' .. globs, 'they cannot be read')
        found = {{0}}
      end
      parsed[globs] = found
    end
    return parsed[globs]
  end

  return function(one, other)
    for _, a in ipairs(paths(one)) do
      for _, b in ipairs(paths(other)) do
        if meet(a, b, is_zero, names_fit) then
          return true
        end
      end
    end
    return false
  end
end

-- Whether two sets of globs have a file in common. Most claims never ask, so it is made only when it is needed.
local overlap_of_sets
local function overlap(one, other)
  overlap_of_sets = overlap_of_sets or make_overlap()
  return overlap_of_sets(one, other)
end

local function overlaps_any(globs, held)
  for _, other in ipairs(held) do
    if overlap(globs, other) then
      return true
    end
  end
  return false
end

-- The first task in order that touches nothing that a task in progress touches. Or nil, and whether something that was in
-- the way is gone, so that another look may find one.
local function look_for_claimable()
  local held, has_to_wait = nil, {}
  local from, size = 0, 1
  while true do
    local members = call('ZRANGE', READY, from, from + size - 1)
    for _, member in ipairs(members) do
      local id, globs = string.match(member, '^(%S+) (%d*)$')
      held = held or globs ~= '' and call('HVALS', HELD)
      if not globs then
        call('ZREM', READY, member)
        set_aside('ready ' .. member, 'it is none of ours')
        return nil, true
      elseif globs ~= '' and has_to_wait[globs] == nil then
        has_to_wait[globs] = overlaps_any(globs, held)
      end
      if not has_to_wait[globs] then
        local task = load(id)
        if task and task.status == PENDING then
          return task
        end
        -- What it is listed as is not what it is.
        call('ZREM', READY, member)
        return nil, true
      end
    end
    if #members < size then
      return nil
    end
    from, size = from + size, 500
  end
end

local function first_claimable()
  for _ = 1, MOST_EXPIRED do
    local task, again = look_for_claimable()
    if task or not again then
      return task
    end
  end
end

-- The whole id, or nil and the refusal.
local function find(name)
  if call('EXISTS', TASK .. name) == 1 then
    return name
  end
  if #name > 64 or not string.match(name, '^[%w_-]+$') then
    return nil, {'no', 'missing', name}
  end
  local ids = call('ZRANGEBYLEX', IDS, '[' .. name, '(' .. name .. '~', 'LIMIT', 0, 4)
  if #ids == 0 then
    return nil, {'no', 'missing', name}
  elseif #ids > 1 then
    return nil, {'no', 'ambiguous', name, ids}
  end
  return ids[1]
end

-- The same, with its state.
local function found(name)
  local id, refusal = find(name)
  if not id then
    return nil, refusal
  end
  local task = load(id)
  if task and has_lapsed(task) then
    expire_task(task)
    task = load(id)
  end
  if not task then
    return nil, {'no', 'damaged', id, call('HGET', DAMAGED, 'task ' .. id) or ''}
  end
  return task
end

-- Why this task in particular cannot be claimed now, if that is so.
local function claim_refusal(task)
  if task.status ~= PENDING then
    return {'no', 'status', task.id, task.status}
  end
  for _, other in ipairs(needed(task.id)) do
    if tonumber(other[2]) ~= DONE then
      return {'no', 'blocked', task.id, other[1], other[2], other[3]}
    end
  end
  if task.globs == '' then
    return nil
  end
  local all = call('HGETALL', HELD)
  local with
  for at = 1, #all, 2 do
    if (not with or all[at] < with) and overlap(all[at + 1], task.globs) then
      with = all[at]
    end
  end
  return with and {'no', 'overlaps', task.id, with}
end

-- id or '', worker, lease
local function claim(id, worker, lease)
  local kept = remembered()
  if kept then
    local known, fence, lease_until = string.match(kept, '^(%S+) (%d+) (%d+)$')
    return known and {'ok', known, fence, lease_until} or {'ok'}
  end
  local has_changed = expire()
  local task
  if id == '' then
    task = first_claimable()
    if not task then
      if has_changed then
        ring()
      end
      return {'ok'}
    end
  else
    local refusal
    task, refusal = found(id)
    refusal = refusal or claim_refusal(task)
    if refusal then
      return refusal
    end
  end
  local fence, lease_until = unique('fence'), now + tonumber(lease)
  -- Not each time: that costs more than it saves.
  if fence % 100 == 0 then
    trim_events()
  end
  local to = {
    status = IN_PROGRESS, worker = worker, fence = fence, lease_until = lease_until,
    attempt = task.attempt + 1, event = 'claimed', text = worker,
  }
  if task.attempt > 0 then
    to.result, to.error = false, false
  end
  write(task, to, now)
  remember(task.id .. ' ' .. digits(fence) .. ' ' .. lease_until)
  ring()
  return {'ok', task.id, digits(fence), tostring(lease_until)}
end

-- What comes below is not even defined for a claim: that is what servers do most.
if ACTION == 'claim' then
  return claim(ARGV[14], ARGV[15], ARGV[16])
end

local function show(id)
  return {'ok', id, call('HGETALL', TASK .. id), needed(id), read('LRANGE', HISTORY .. id, 0, -1) or {}}
end

local function is_held(task, fence)
  if task.fence ~= fence or fence == 0 then
    return {'no', 'stale', task.id}
  elseif task.status == IN_PROGRESS and task.lease_until > now then
    return nil
  elseif task.status == IN_PROGRESS or task.status == PENDING or task.status == PARKED then
    return {'no', 'lease_over', task.id}
  end
  return {'no', 'status', task.id, task.status}
end

local action = {}

-- Each returns what changes, or nil and a refusal; nothing if it was recorded before.
local change = {}

function change.renew(task, fence, lease)
  local refusal = is_held(task, fence)
  if refusal then
    return nil, refusal
  end
  return {lease_until = math.max(now + tonumber(lease), task.lease_until)}
end

function change.finish(task, fence, text)
  if fence ~= 0 and task.fence == fence and task.status == DONE then
    return nil
  end
  local refusal = is_held(task, fence)
  if refusal then
    return nil, refusal
  end
  return {status = DONE, result = text, losses = 0, event = 'finished', fence = fence}
end

function change.fail(task, fence, text)
  if fence ~= 0 and task.fence == fence and task.status == FAILED then
    return nil
  end
  local refusal = is_held(task, fence)
  if refusal then
    return nil, refusal
  end
  return {status = FAILED, error = text, losses = 0, event = 'failed', fence = fence, text = text}
end

function change.give_back(task, fence, text)
  if fence ~= 0 and task.fence == fence and task.status == PENDING then
    return nil
  end
  local refusal = is_held(task, fence)
  if refusal then
    return nil, refusal
  end
  return {status = PENDING, losses = 0, event = 'returned', fence = fence, text = text}
end

function change.retry(task)
  if task.status ~= FAILED and task.status ~= PARKED and task.status ~= CANCELLED then
    return nil, {'no', 'status', task.id, task.status}
  end
  return {status = PENDING, error = false, losses = 0, event = 'retried'}
end

function change.cancel(task, _, text)
  if task.status == CANCELLED then
    return nil
  elseif task.status == DONE then
    return nil, {'no', 'status', task.id, task.status}
  end
  return {status = CANCELLED, error = text, event = 'cancelled', text = text}
end

-- id, change, fence, '1' if there is a text, text or lease
function action.act(id, name, fence, has_text, text)
  expire()
  local task, refusal = found(id)
  if refusal then
    return refusal
  end
  if remembered() == name .. ' ' .. task.id then
    return show(task.id)
  end
  local to
  to, refusal = change[name](task, tonumber(fence), has_text == '1' and text)
  if refusal then
    return refusal
  end
  if to then
    write(task, to, now)
    if name ~= 'renew' then
      remember(name .. ' ' .. task.id)
      ring()
    end
  end
  return show(task.id)
end

function action.show(id)
  expire()
  local task, refusal = found(id)
  return refusal or show(task.id)
end

function action.overview()
  expire()
  local answer = {'ok'}
  for status = PENDING, CANCELLED do
    answer[#answer + 1] = call('ZCARD', by_status(status))
  end
  answer[#answer + 1] = call('ZCARD', READY)
  for _, ago in ipairs({60000, LATELY_MS}) do
    answer[#answer + 1] = read('ZCOUNT', FINISHES, '(' .. (now - ago), '+inf') or 0
  end
  answer[#answer + 1] = call('HGETALL', DAMAGED)
  return answer
end

function action.next()
  expire()
  local task = first_claimable()
  return task and show(task.id) or {'ok'}
end

-- statuses, the place after which to go on, how many
function action.list(statuses, after, size)
  expire()
  local total, places, ids = 0, {}, {}
  for status in string.gmatch(statuses, '%d') do
    local key = by_status(status)
    total = total + call('ZCARD', key)
    local some = call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, size)
    for at = 1, #some, 2 do
      local place = tonumber(some[at + 1])
      places[#places + 1] = place
      ids[place] = some[at]
    end
  end
  table.sort(places)
  local tasks, last = {}, after
  for at = 1, math.min(#places, tonumber(size)) do
    last = places[at]
    local id = ids[last]
    -- A damaged one is there once more, without its fields, and from the next time on no more.
    tasks[at] = load(id) and {id, call('HGETALL', TASK .. id), needed(id)} or {id}
  end
  return {'ok', total, tostring(last), tasks, call('HGETALL', DAMAGED)}
end

-- The globs of a task as a number: tasks with the same globs share it.
local function glob_set(text, encoded_paths)
  if text == '[]' then
    return ''
  end
  local number = call('HGET', GLOB_SETS, text)
  if not number then
    number = tostring(count('globsets', 1))
    call('HSET', GLOB_SETS, text, number)
    call('HSET', GLOBS, number, encoded_paths)
  end
  return number
end

local function insert(task)
  local key, seq = TASK .. task.id, count('seq', 1)
  local globs = glob_set(task.touches, task.paths)
  local waits_for = 0
  for _, id in ipairs(task.needs) do
    local status = read('HGET', TASK .. id, 'st')
    if not status or tonumber(status) ~= DONE then
      waits_for = waits_for + 1
      call('RPUSH', WAITING .. id, task.id)
    end
  end
  local deps = #task.needs == 0 and '[]' or cjson.encode(task.needs)
  call('HSET', key, 'q', seq, 'title', task.title, 'desc', task.description, 'p', task.priority, 'touches', task.touches,
    'deps', deps, 'g', globs, 'w', waits_for, 'st', PENDING, 'f', 0, 'u', 0, 'a', 0, 'l', 0, 'cr', now, 'ch', now)
  announce(task.id, 'added', 0)
  call('ZADD', IDS, 0, task.id)
  call('ZADD', by_status(PENDING), seq, task.id)
  if waits_for == 0 then
    set_ready({id = task.id, globs = globs, priority = tonumber(task.priority), seq = seq})
  end
end

-- '1' if an id occurs twice, '1' if they depend on each other in a circle, and the tasks: id, title, description, priority,
-- globs, paths, number of dependencies, dependencies. They are too many for arguments of a function.
function action.add()
  if remembered() then
    return {'ok'}
  end
  local has_twins, has_circle, at, tasks, new = ARGV[14], ARGV[15], 16, {}, {}
  while ARGV[at] do
    local task = {
      id = ARGV[at], title = ARGV[at + 1], description = ARGV[at + 2], priority = ARGV[at + 3],
      touches = ARGV[at + 4], paths = ARGV[at + 5], names = {}, needs = {},
    }
    for n = 1, tonumber(ARGV[at + 6]) do
      task.names[n] = ARGV[at + 6 + n]
    end
    at = at + 7 + #task.names
    tasks[#tasks + 1] = task
    new[task.id] = true
  end
  local total = tonumber(call('HGET', META, 'tasks') or 0) + #tasks
  if total > MOST_TASKS then
    return {'no', 'too_many', total}
  end
  for _, task in ipairs(tasks) do
    if has_twins == '1' or call('EXISTS', TASK .. task.id) == 1 then
      return {'no', 'exists', task.id}
    end
    local known = {}
    for _, name in ipairs(task.names) do
      local id, refusal = name, nil
      if not new[name] then
        id, refusal = find(name)
      end
      if refusal and refusal[2] == 'missing' then
        return {'no', 'no_dependency', task.title, name}
      elseif refusal then
        return refusal
      end
      if not known[id] then
        known[id] = true
        task.needs[#task.needs + 1] = id
      end
    end
  end
  if has_circle == '1' then
    return {'no', 'circle'}
  end
  for _, task in ipairs(tasks) do
    insert(task)
  end
  trim_events()
  count('tasks', #tasks)
  remember('added')
  ring()
  return {'ok'}
end

if ACTION == 'add' then
  return action.add()
end
return action[ACTION](unpack(ARGV, 14))
