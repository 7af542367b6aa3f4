/**
 * Scripts that a server runs as one step. Every key that they touch is among their KEYS and has the same hash tag, so that
 * they work on clusters. None depends on the server's clock. Times are milliseconds.
 */
import { rowLengths } from '../rows/pieces.ts'

/**
 * Writes the record and the stamp of a key, and rows of one slice. Everywhere the newer clock wins. Rows that a longer
 * row covers are deleted if they are older, and not stored if the longer row is newer.
 *
 * KEYS: the key (hash), and where rows are concerned their values (hash) and their clocks (sorted set), both by row id.
 * ARGV: now, retention, whether the server has a lifetime per hash field ("1"), the clock up to which record and stamp
 * are removed or "", their number, name, clock and value of each, the slice, the number of drops, id and clock of each,
 * then id and value of each put. An id is `offset.buckets`; a value begins with its clock.
 */
const write = `
local key, values, clocks = KEYS[1], KEYS[2], KEYS[3]
local now, retention, has_field_ttl = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local drop_until, parts = tonumber(ARGV[4]), tonumber(ARGV[5])
local newest = 0

local function whole(ms) return string.format('%.0f', math.ceil(ms)) end

if drop_until then
  local latest = 0
  for _, clock in ipairs(redis.call('HMGET', key, 'record_clock', 'stamp_clock')) do
    if clock then latest = math.max(latest, tonumber(clock)) end
  end
  if latest <= drop_until then redis.call('HDEL', key, 'record', 'record_clock', 'stamp', 'stamp_clock') end
end

for i = 6, 5 + 3 * parts, 3 do
  local name, clock = ARGV[i], ARGV[i + 1]
  local stored = redis.call('HGET', key, name .. '_clock')
  if not stored or tonumber(stored) <= tonumber(clock) then
    redis.call('HSET', key, name, ARGV[i + 2], name .. '_clock', clock)
    newest = math.max(newest, tonumber(clock))
  end
end

local function delete(ids)
  if #ids == 0 then return end
  redis.call('HDEL', values, unpack(ids))
  redis.call('ZREM', clocks, unpack(ids))
end

local function put(id, value)
  local clock = struct.unpack('>d', value)
  local dot = string.find(id, '.', 1, true)
  local offset, buckets = tonumber(string.sub(id, 1, dot - 1)), tonumber(string.sub(id, dot + 1))
  local rivals, covered = {id}, {}
  for _, length in ipairs({${rowLengths.join(', ')}}) do
    if length > buckets then
      rivals[#rivals + 1] = (offset - offset % length) .. '.' .. length
    elseif length < buckets then
      for from = offset, offset + buckets - 1, length do covered[#covered + 1] = from .. '.' .. length end
    end
  end
  for _, other in ipairs(redis.call('ZMSCORE', clocks, unpack(rivals))) do
    if other and tonumber(other) > clock then return end
  end
  redis.call('HSET', values, id, value)
  redis.call('ZADD', clocks, clock, id)
  if has_field_ttl then redis.pcall('HPEXPIREAT', values, whole(clock + retention), 'FIELDS', 1, id) end
  newest = math.max(newest, clock)
  if #covered == 0 then return end
  local older = {}
  for i, other in ipairs(redis.call('ZMSCORE', clocks, unpack(covered))) do
    if other and tonumber(other) <= clock then older[#older + 1] = covered[i] end
  end
  delete(older)
end

local function forget_expired_slices()
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 6) == 'slice:' and tonumber(fields[i + 1]) <= now then redis.call('HDEL', key, fields[i]) end
  end
end

if values then
  local at = 6 + 3 * parts
  local slice, drops = 'slice:' .. ARGV[at], tonumber(ARGV[at + 1])
  local dropped = redis.call('ZRANGEBYSCORE', clocks, '-inf', now - retention, 'LIMIT', 0, 1000)
  for i = at + 2, at + 1 + 2 * drops, 2 do
    local clock = redis.call('ZSCORE', clocks, ARGV[i])
    if clock and tonumber(clock) <= tonumber(ARGV[i + 1]) then dropped[#dropped + 1] = ARGV[i] end
  end
  delete(dropped)
  for i = at + 2 + 2 * drops, #ARGV, 2 do put(ARGV[i], ARGV[i + 1]) end
  if newest > 0 then
    local known = tonumber(redis.call('HGET', key, slice) or 0)
    local ends = math.max(known, newest + retention)
    if known == 0 then forget_expired_slices() end
    -- The last row may have been deleted in between: what is made anew has no end of life yet.
    if ends > known or redis.call('PTTL', values) == -1 or redis.call('PTTL', clocks) == -1 then
      redis.call('HSET', key, slice, whole(ends))
      redis.call('PEXPIREAT', values, whole(ends))
      redis.call('PEXPIREAT', clocks, whole(ends))
    end
  end
end

local ends = redis.call('HGET', key, 'ends')
if newest > 0 and (not ends or tonumber(ends) < newest + retention) then
  redis.call('HSET', key, 'ends', whole(newest + retention))
  redis.call('PEXPIREAT', key, whole(newest + retention))
end
return 1
`

/**
 * Changes cells of one partition, if all of them have the revisions that are expected. Returns 1 where it was done.
 *
 * KEYS: the names of the cells (sorted set, in byte order), then one hash per change. ARGV: per change the name, the
 * expected revision or "", the end of life or "", the number of fields and values, and these. No fields: the cell is removed.
 */
const commit = `
local at = 1
for i = 2, #KEYS do
  local stored = redis.call('HGET', KEYS[i], 'rev') or ''
  if stored ~= ARGV[at + 1] then return 0 end
  at = at + 4 + tonumber(ARGV[at + 3])
end
at = 1
for i = 2, #KEYS do
  local name, ends, count = ARGV[at], ARGV[at + 2], tonumber(ARGV[at + 3])
  redis.call('DEL', KEYS[i])
  if count == 0 then
    redis.call('ZREM', KEYS[1], name)
  else
    redis.call('HSET', KEYS[i], unpack(ARGV, at + 4, at + 3 + count))
    local is_first = redis.call('EXISTS', KEYS[1]) == 0
    redis.call('ZADD', KEYS[1], 0, name)
    if ends == '' then
      redis.call('PERSIST', KEYS[1])
    else
      redis.call('PEXPIREAT', KEYS[i], ends)
      local left = redis.call('PTTL', KEYS[1])
      if is_first or (left >= 0 and left < redis.call('PTTL', KEYS[i])) then
        redis.call('PEXPIREAT', KEYS[1], ends)
      end
    end
  end
  at = at + 4 + count
end
return 1
`

/** Takes the names of expired cells off the list. KEYS: the names, then one hash per name. ARGV: the names. */
const tidy = `
for i, name in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[i + 1]) == 0 then redis.call('ZREM', KEYS[1], name) end
end
return 1
`

/** As the client takes them. It sends a script once per connection, and again where a server has forgotten it. */
export const scripts = {
  windowpaneWrite: { lua: write },
  windowpaneCommit: { lua: commit },
  windowpaneTidy: { lua: tidy },
} as const
