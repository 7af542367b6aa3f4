/** Local time of a zone, as Joda-Time does it: literals, periods. Where a local time does not exist there is no answer. */
import type { EpochMs } from '../../core/clock.ts'
import { addMonths, clockMs, dayMs, periodIn } from '../../core/iso.ts'
import { instantOf, type LocalMs, offsetAt, type Zone, zoneOf } from '../../core/zone.ts'
import { wordSet } from './sql-tokens.ts'

/** Only names that both Joda and this runtime know: for any other name Druid silently takes GMT. */
const knownZones: ReadonlySet<string> = new Set([
  ...Intl.supportedValuesOf('timeZone'),
  ...wordSet('UTC Etc/UTC Etc/GMT GMT Asia/Kolkata Asia/Kathmandu Asia/Ho_Chi_Minh Asia/Yangon Europe/Kyiv'),
  ...wordSet('America/Buenos_Aires US/Eastern US/Central US/Mountain US/Pacific'),
])

export function exactZone(name: string): Zone | undefined {
  return knownZones.has(name) || /^[+-](?:0\d|1[0-4]):[0-5]\d$/.test(name) ? zoneOf(name) : undefined
}

/** Beyond this there are no dates. */
const farthest = 8e15

/** Of a local time that comes twice the first. Undefined for one that is left out, and for one that is no date. */
export function instantAt(zone: Zone, local: LocalMs): EpochMs | undefined {
  if (!(Math.abs(local) <= farthest)) return undefined
  const instant = instantOf(zone, local)
  return localAt(zone, instant) === local ? instant : undefined
}

export const localAt = (zone: Zone, instant: EpochMs): LocalMs => instant + offsetAt(zone, instant)

/** The beginning of the local day. */
export function dayAt(zone: Zone, instant: EpochMs): EpochMs | undefined {
  return instantAt(zone, Math.floor(localAt(zone, instant) / dayMs) * dayMs)
}

/** As read by `parsePeriod`. */
export interface LocalPeriod {
  readonly months: number
  readonly days: number
  readonly ms: number
}

const period =
  /^P(?:(\d{1,4})Y)?(?:(\d{1,4})M)?(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?=\d)(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/

/** Years and months together are not read: Joda adds one after the other. */
export function parsePeriod(text: string): LocalPeriod | undefined {
  const match = period.exec(text)
  if (match === null || text.length < 3) return undefined
  const parts = periodIn(match)
  const { years, months, weeks, days } = parts
  if (years > 0 && months > 0) return undefined
  return { months: years * 12 + months, days: weeks * 7 + days, ms: clockMs(parts) }
}

/** Months and days are added to local time, the rest to the instant. */
export function shift(zone: Zone, at: EpochMs, { months, days, ms }: LocalPeriod): EpochMs | undefined {
  const afterMonths = months === 0 ? at : moved(zone, at, (local) => addMonths(local, months))
  if (afterMonths === undefined) return undefined
  const afterDays = days === 0 ? afterMonths : moved(zone, afterMonths, (local) => local + days * dayMs)
  return afterDays === undefined || !(Math.abs(afterDays + ms) <= farthest) ? undefined : afterDays + ms
}

export const times = ({ months, days, ms }: LocalPeriod, count: number): LocalPeriod => ({
  months: months * count,
  days: days * count,
  ms: ms * count,
})

/** A local time that comes twice is the one with the offset of before. */
function moved(zone: Zone, at: EpochMs, move: (local: LocalMs) => LocalMs): EpochMs | undefined {
  const offset = offsetAt(zone, at)
  const local = move(at + offset)
  if (!(Math.abs(local) <= farthest)) return undefined
  return offsetAt(zone, local - offset) === offset ? local - offset : instantAt(zone, local)
}
