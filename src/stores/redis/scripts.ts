/**
 * Scripts that a server runs as one step. Every key that they touch is among their KEYS and has the same hash tag, so that
 * they work on clusters. None depends on the server's clock. Times are milliseconds.
 */

/**
 * Drops and puts rows of one slice. Per row the newer clock wins. What a longer row covers is deleted if it is older, and
 * not stored if the longer row is newer.
 *
 * KEYS: values by row id (hash), clocks by row id (sorted set), ends of life by slice (sorted set).
 * ARGV: slice, now, retention, whether the server has a lifetime per hash field ("1"), number of drops, then id and clock
 * of each drop, then offset, buckets, clock and value of each put. An id is `offset.buckets`.
 */
const rows = `
local values, clocks, slices = KEYS[1], KEYS[2], KEYS[3]
local slice, now, retention, has_field_ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local at = 6 + 2 * tonumber(ARGV[5])

local function delete(ids)
  if #ids == 0 then return end
  redis.call('HDEL', values, unpack(ids))
  redis.call('ZREM', clocks, unpack(ids))
end

local dropped = redis.call('ZRANGEBYSCORE', clocks, '-inf', now - retention, 'LIMIT', 0, 1000)
for i = 6, at - 1, 2 do
  local clock = redis.call('ZSCORE', clocks, ARGV[i])
  if clock and tonumber(clock) <= tonumber(ARGV[i + 1]) then dropped[#dropped + 1] = ARGV[i] end
end
delete(dropped)

local newest
while at < #ARGV do
  local offset, buckets, text, value = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
  at = at + 4
  local clock = tonumber(text)
  local id = offset .. '.' .. buckets
  local rivals, covered = {id}, {}
  for length = 1, 64 do
    if length == 1 or length == 4 or length == 16 or length == 64 then
      if length > buckets then
        rivals[#rivals + 1] = (offset - offset % length) .. '.' .. length
      elseif length < buckets then
        for from = offset, offset + buckets - 1, length do covered[#covered + 1] = from .. '.' .. length end
      end
    end
  end
  local is_newest = true
  for _, other in ipairs(redis.call('ZMSCORE', clocks, unpack(rivals))) do
    if other and tonumber(other) > clock then is_newest = false end
  end
  if is_newest then
    redis.call('HSET', values, id, value)
    redis.call('ZADD', clocks, text, id)
    if has_field_ttl then
      redis.pcall('HPEXPIREAT', values, string.format('%.0f', math.ceil(clock + retention)), 'FIELDS', 1, id)
    end
    if newest == nil or clock > newest then newest = clock end
    if #covered > 0 then
      local older = {}
      for i, other in ipairs(redis.call('ZMSCORE', clocks, unpack(covered))) do
        if other and tonumber(other) <= clock then older[#older + 1] = covered[i] end
      end
      delete(older)
    end
  end
end

if newest then
  redis.call('ZADD', slices, 'GT', string.format('%.0f', math.ceil(newest + retention)), slice)
  redis.call('ZREMRANGEBYSCORE', slices, '-inf', now)
  local ends = redis.call('ZSCORE', slices, slice)
  if ends then
    redis.call('PEXPIREAT', values, ends)
    redis.call('PEXPIREAT', clocks, ends)
    redis.call('PEXPIREAT', slices, redis.call('ZRANGE', slices, -1, -1, 'WITHSCORES')[2])
  end
end
return 1
`

/**
 * Writes or removes what is stored of a key besides its rows. Per part the newer clock wins.
 *
 * KEYS: the parts and their clocks (hash). ARGV: retention, the clock up to which all is removed or "", then name, clock and
 * value of each part.
 */
const key = `
local retention, drop_until = tonumber(ARGV[1]), tonumber(ARGV[2])

local function newest_clock()
  local newest = 0
  for _, clock in ipairs(redis.call('HMGET', KEYS[1], 'record_clock', 'stamp_clock')) do
    if clock and tonumber(clock) > newest then newest = tonumber(clock) end
  end
  return newest
end

if drop_until then
  if newest_clock() <= drop_until then redis.call('DEL', KEYS[1]) end
end
for i = 3, #ARGV, 3 do
  local name, clock, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local stored = redis.call('HGET', KEYS[1], name .. '_clock')
  if not stored or tonumber(stored) <= tonumber(clock) then
    redis.call('HSET', KEYS[1], name, value, name .. '_clock', clock)
  end
end
local newest = newest_clock()
if newest > 0 then redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.ceil(newest + retention))) end
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
  windowpaneRows: { lua: rows },
  windowpaneKey: { lua: key },
  windowpaneCommit: { lua: commit },
  windowpaneTidy: { lua: tidy },
} as const
