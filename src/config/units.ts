/** Human durations and sizes: read strictly, written so that reading gives the same number again. */

const number = String.raw`(\d+(?:\.\d+)?)`

/** Also the pattern of the published schema. Units from long to short, each at most once. */
export const durationPattern = `^(?=\\d)(?:${number}d)?(?:${number}h)?(?:${number}m(?!s))?(?:${number}s)?(?:${number}ms)?$`
const durationUnits = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const
const durationMatcher = new RegExp(durationPattern)

/** Whole milliseconds; undefined where the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = durationMatcher.exec(text)
  if (match === null) return undefined
  const sum = durationUnits.reduce((total, [, ms], i) => total + Number(match[i + 1] ?? 0) * ms, 0)
  return Math.abs(sum - Math.round(sum)) < 1e-6 && Number.isSafeInteger(Math.round(sum))
    ? Math.round(sum)
    : undefined
}

export function formatDuration(ms: number): string {
  let rest = ms
  let text = ''
  for (const [unit, size] of durationUnits) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) text += `${count}${unit}`
  }
  return text === '' ? '0s' : text
}

/** Below 100 %, and not 0. */
export const percentagePattern = String.raw`^(?=.*[1-9])\d{1,2}(?:\.\d+)?\s?%$`
const percentageMatcher = /^(\d+(?:\.\d+)?)\s?%$/

/** A share: 0.01 for 1%. Undefined where the text is no percentage. */
export function parsePercentage(text: string): number | undefined {
  const match = percentageMatcher.exec(text)
  // Read as decimals, because dividing by 100 does not give the nearest double: 0.7 / 100 is not 0.007.
  return match === null ? undefined : Number(`${match[1]}e-2`)
}

export const formatPercentage = (share: number): string => `${Number((share * 100).toPrecision(12))}%`

export const sizePattern = String.raw`^\d+(?:\.\d+)?\s?(?:[kKmMgGtT][iI]?)?[bB]?$`
const sizeMatcher = /^(\d+(?:\.\d+)?)\s?(|[kmgt]i?)b?$/i
const sizeUnits = [
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['KB', 1e3],
  ['B', 1],
] as const
const scaleOf = new Map<string, number>(
  sizeUnits.map(([unit, scale]) => [unit.slice(0, -1).toLowerCase(), scale]),
)

/** Whole bytes; undefined where the text is not a size. */
export function parseSize(text: string): number | undefined {
  const match = sizeMatcher.exec(text)
  if (match === null) return undefined
  const bytes = Math.floor(Number(match[1]) * scaleOf.get(match[2]!.toLowerCase())!)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** The shortest of the exact ways to write it; binary units where two are equally short. */
export function formatSize(bytes: number): string {
  const exact = sizeUnits.filter(([, scale]) => bytes % scale === 0 && bytes >= scale)
  const texts = exact.map(([unit, scale]) => `${bytes / scale}${unit}`)
  return texts.reduce((best, text) => (digits(text) < digits(best) ? text : best), `${bytes}B`)
}

const digits = (text: string): number => text.replaceAll(/\D/g, '').length

/** For people, rounded: 512 B, 3.4 KiB, 12 MiB. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [bytes, 0]
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}
