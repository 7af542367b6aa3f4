/**
 * Time zones: how far local time is ahead of UTC, and the conversion of local times to instants. Local times are
 * milliseconds as if the clock on the wall showed UTC.
 *
 * The rules come from the runtime itself (Intl), which every Node carries and which is updated with it: a library would
 * bring a second copy of them, and the two would differ. Intl only returns the offset of one instant at a time, and
 * slowly: transitions are searched on demand, a few years at once, and kept as sorted numbers.
 */
import type { EpochMs } from './clock.ts'
import { dayMs } from './iso.ts'
import { Memo } from './memo.ts'
import { lastAtMost } from './sorted.ts'

export type LocalMs = number

/** An instant from which on another offset holds. */
export interface Transition {
  readonly at: EpochMs
  readonly before: number
  readonly after: number
}

/** Years of a zone: where its offsets begin to hold. The first begins with the span itself. */
interface Span {
  readonly starts: Float64Array
  readonly offsets: Int32Array
}

const secondMs = 1000
/** More than four years: the newest data and a year before them are nearly always in one span. */
const spanMs = 1600 * dayMs
const firstInstant = Date.UTC(1800, 0, 1)
const spanCount = 160
const lastInstant = firstInstant + spanCount * spanMs
/** After this long, days of the week and leap years repeat, and rules with them. */
const cycleMs = 146_097 * dayMs
/** The shortest time for which an offset ever held is nearly four days (Freetown, 1939). */
const probeMs = 3 * dayMs
/** Local times are less than this away from UTC (Manila before 1844: almost 16 hours). */
const mostOffsetMs = 16 * 3_600_000

export class Zone {
  readonly name: string
  /** Where it is the same for ever. */
  readonly fixedOffset: number | undefined
  readonly #spans: (Span | undefined)[] = []

  constructor(name: string, fixedOffset?: number) {
    this.name = name
    this.fixedOffset = fixedOffset
  }

  spanAt(index: number): Span {
    this.#spans[index] ??= findSpan(this.name, firstInstant + index * spanMs)
    return this.#spans[index]
  }
}

/** Milliseconds that local time is ahead of UTC. */
export function offsetAt(zone: Zone, instant: EpochMs): number {
  if (zone.fixedOffset !== undefined) return zone.fixedOffset
  const known = folded(instant)
  const { starts, offsets } = zone.spanAt(Math.floor((known - firstInstant) / spanMs))
  return offsets[lastAtMost(starts, known)]!
}

/** An instant up to which nothing changes about the offset; not always the last such. */
function sameUntil(zone: Zone, instant: EpochMs): EpochMs {
  if (zone.fixedOffset !== undefined) return Number.POSITIVE_INFINITY
  if (instant < firstInstant) return firstInstant
  const known = folded(instant)
  const index = Math.floor((known - firstInstant) / spanMs)
  const { starts } = zone.spanAt(index)
  const end = starts[lastAtMost(starts, known) + 1] ?? firstInstant + (index + 1) * spanMs
  return end + (instant - known)
}

/**
 * The first instant at which local time is at least `local`: of a time that comes twice the earlier one, of a time that
 * is left out the end of the gap.
 */
export function instantOf(zone: Zone, local: LocalMs): EpochMs {
  if (zone.fixedOffset !== undefined) return local - zone.fixedOffset
  let at = local - mostOffsetMs
  for (;;) {
    const end = sameUntil(zone, at)
    const instant = Math.max(at, local - offsetAt(zone, at))
    if (instant < end) return instant
    at = end
  }
}

/** The transitions in (from, to], in time order. Between two instants far apart there are only so many as in 700 years. */
export function* transitionsIn(zone: Zone, from: EpochMs, to: EpochMs): Generator<Transition> {
  let before = offsetAt(zone, from)
  for (let at = sameUntil(zone, from); at <= Math.min(to, lastInstant); at = sameUntil(zone, at)) {
    const after = offsetAt(zone, at)
    if (after !== before) yield { at, before, after }
    before = after
  }
}

/** The instant within the known years that has the same offset; before them there was no other than the first. */
function folded(instant: EpochMs): EpochMs {
  if (!(instant >= firstInstant)) return firstInstant
  if (instant < lastInstant) return instant
  return lastInstant - cycleMs + ((instant - lastInstant) % cycleMs || 0)
}

function findSpan(name: string, begin: EpochMs): Span {
  const offsetAt = offsetsOf(name)
  const starts = [begin]
  const offsets = [offsetAt(begin)]
  for (let from = begin; from < begin + spanMs; from += probeMs) {
    const to = Math.min(from + probeMs, begin + spanMs - secondMs)
    const [before, after] = [offsets.at(-1)!, offsetAt(to)]
    if (before === after) continue
    starts.push(changeBetween(from, to, (instant) => offsetAt(instant) === before))
    offsets.push(after)
  }
  return { starts: Float64Array.from(starts), offsets: Int32Array.from(offsets) }
}

/** Clocks change on whole seconds. */
function changeBetween(from: EpochMs, to: EpochMs, isBefore: (instant: EpochMs) => boolean): EpochMs {
  let [low, high] = [from / secondMs, to / secondMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isBefore(middle * secondMs)) low = middle
    else high = middle
  }
  return high * secondMs
}

type OffsetAt = (instant: EpochMs) => number

/** Formats need much memory, and are needed only while a span is looked for: one is kept. */
let lastOffsets: { readonly name: string; readonly offsetAt: OffsetAt } | undefined

function offsetsOf(name: string): OffsetAt {
  if (lastOffsets?.name !== name) lastOffsets = { name, offsetAt: newOffsetAt(formatOf(name)) }
  return lastOffsets.offsetAt
}

const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone,
    timeZoneName: 'longOffset',
    hour: '2-digit',
    hourCycle: 'h23',
  })

/** It prints `05, GMT-04:56:02`, without seconds where there are none. */
const newOffsetAt = (format: Intl.DateTimeFormat): OffsetAt => {
  return (instant) => {
    const text = format.format(instant)
    return signedMs(text.slice(text.indexOf('GMT') + 3)) ?? 0
  }
}

/** `+05:30`, `-0800`, `+14`, and the forms with seconds that Intl prints. */
function signedMs(text: string): number | undefined {
  const found = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d)(?::([0-5]\d))?)?$/.exec(text)
  if (found === null) return undefined
  const [, sign, hours, minutes = 0, seconds = 0] = found
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' && ms > 0 ? -ms : ms
}

/** There are fewer than 600 names, and a process uses few of them. */
const zones = new Memo<Zone | null>({ maxTexts: 128, maxCharacters: 8192 }, makeZone)
const maxNameChars = 64

/** A zone by its IANA name, or a fixed offset; undefined for a name that this runtime does not know. */
export function zoneOf(name: string): Zone | undefined {
  return name.length > maxNameChars ? undefined : (zones.get(name) ?? undefined)
}

const utcZone = new Zone('UTC', 0)

function makeZone(name: string): Zone | null {
  if (name === 'Z') return utcZone
  const fixedOffset = signedMs(name)
  if (fixedOffset !== undefined)
    return fixedOffset === 0 ? utcZone : new Zone(offsetText(fixedOffset), fixedOffset)
  if (!/^[A-Z][\w+-]*(?:\/[A-Z][\w+-]*)*$/.test(name)) return null
  try {
    const format = formatOf(name)
    const { timeZone } = format.resolvedOptions()
    // Intl takes any spelling; databases take `America/new_York` for a zone that they do not know.
    if (timeZone !== name && timeZone.toLowerCase() === name.toLowerCase()) return null
    if (timeZone === 'UTC') return utcZone
    return name.startsWith('Etc/') ? new Zone(name, newOffsetAt(format)(0)) : new Zone(name)
  } catch {
    return null
  }
}

/** `+05:30`, and `-04:56:02` where it has seconds. */
function offsetText(offsetMs: number): string {
  const seconds = Math.abs(offsetMs) / 1000
  const parts = [seconds / 3600, (seconds / 60) % 60, ...(seconds % 60 === 0 ? [] : [seconds % 60])]
  const digits = parts.map((part) => String(Math.floor(part)).padStart(2, '0'))
  return `${offsetMs < 0 ? '-' : '+'}${digits.join(':')}`
}
