/**
 * The many ways to write one request: Prometheus takes instants as numbers or RFC 3339, steps as numbers or
 * durations, parameters in any order, in the URL or in a form. None of that may show in an answer.
 */
import type { Param } from './form.ts'
import type { Random } from './random.ts'
import type { Window } from './walks.ts'

export interface Ask {
  readonly method: 'GET' | 'POST'
  /** In the URL. */
  readonly search: readonly Param[]
  /** In the form; only with POST. */
  readonly form: readonly Param[]
}

const zonesMinutes = [330, -480, 60, 0] as const
const durationUnits = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const

export function spellInstant(ms: number, random: Random): string {
  const style = random.weighted({ short: 55, padded: 15, utc: 15, zoned: 15 })
  if (style === 'short') return String(ms / 1000)
  if (style === 'padded') return (ms / 1000).toFixed(random.pick([3, 3, 6]))
  return style === 'utc' ? rfc3339(ms, 0) : rfc3339(ms, random.pick(zonesMinutes))
}

function rfc3339(ms: number, zoneMinutes: number): string {
  const local = new Date(ms + zoneMinutes * 60_000).toISOString().replace('Z', '')
  const trimmed = local.replace(/\.?0+$/, (zeros) => (zeros.startsWith('.') ? '' : zeros))
  if (zoneMinutes === 0) return `${trimmed}Z`
  const minutes = Math.abs(zoneMinutes)
  const clock = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'))
  return `${trimmed}${zoneMinutes < 0 ? '-' : '+'}${clock.join(':')}`
}

export function spellStep(ms: number, random: Random): string {
  const style = random.weighted({ number: 50, duration: 40, milliseconds: 10 })
  if (style === 'number') return String(ms / 1000)
  return style === 'milliseconds' ? `${ms}ms` : duration(ms)
}

function duration(ms: number): string {
  let left = ms
  let text = ''
  for (const [unit, size] of durationUnits) {
    const count = Math.floor(left / size)
    if (count > 0) text += `${count}${unit}`
    left -= count * size
  }
  return text
}

/** The parameters that Prometheus requires, in the order its documentation has. */
export function spellWindow(query: string, window: Window, random: Random): Param[] {
  return [
    ['query', query],
    ['start', spellInstant(window.start, random)],
    ['end', spellInstant(window.end, random)],
    ['step', spellStep(window.step, random)],
  ]
}

/** Chooses method and order. Some forms have a part of their parameters in the URL: Prometheus merges both. */
export function spellAsk(params: readonly Param[], random: Random): Ask {
  const ordered = random.chance(0.5) ? params : random.shuffle(params)
  const style = random.weighted({ get: 55, post: 42, both: 3 })
  if (style === 'get') return { method: 'GET', search: ordered, form: [] }
  if (style === 'post') return { method: 'POST', search: [], form: ordered }
  const cut = random.int(1, Math.max(1, ordered.length - 1))
  return { method: 'POST', search: ordered.slice(0, cut), form: ordered.slice(cut) }
}

export const encode = (params: readonly Param[]): string =>
  new URLSearchParams(params as [string, string][]).toString()

/** Equal for requests that a server with static data must answer equally: same parameters, spelled the same. */
export const sameAnswerKey = (ask: Ask): string => encode([...ask.search, ...ask.form].sort())
