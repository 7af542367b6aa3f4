/** The many ways to write the `intervals` of a native query. None of them may show in an answer. */
import type { Random } from '../../fidelity/random.ts'
import type { Span } from '../../fidelity/walks.ts'

/** Returns a value for JSON. */
export function spellIntervals(spans: readonly Span[], random: Random): unknown {
  const texts = spans.map((span) => spellInterval(span, random))
  const style = random.weighted({ list: 60, text: 15, typed: 15, untyped: 10 })
  if (style === 'list') return texts
  if (style === 'text') return texts.join(',')
  return style === 'typed' ? { type: 'intervals', intervals: texts } : { intervals: texts }
}

function spellInterval({ from, to }: Span, random: Random): string {
  const style = random.weighted({ ends: 80, length: 12, before: 8 })
  const [begin, end] = [spellInstant(from, random), spellInstant(to, random)]
  if (style === 'ends') return `${begin}/${end}`
  return style === 'length' ? `${begin}/${spellLength(to - from)}` : `${spellLength(to - from)}/${end}`
}

const zonesMinutes = [330, -480, 60, 0, 345] as const

/** ISO 8601 as Joda-Time reads it: parts may be missing from the end, and zones may be given. */
function spellInstant(ms: number, random: Random): string {
  const style = random.weighted({ full: 50, short: 30, zoned: 20 })
  if (style === 'full') return new Date(ms).toISOString()
  if (style === 'short') return shortened(ms)
  const minutes = random.pick(zonesMinutes)
  const local = new Date(ms + minutes * 60_000).toISOString().replace('Z', '')
  return `${local}${offset(minutes)}`
}

function shortened(ms: number): string {
  const text = new Date(ms).toISOString()
  if (ms % 86_400_000 === 0) return text.slice(0, 10)
  if (ms % 3_600_000 === 0) return text.slice(0, 13)
  return ms % 60_000 === 0 ? text.slice(0, 16) : text.replace(/\.000Z$/, 'Z')
}

function offset(minutes: number): string {
  const parts = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `${minutes < 0 ? '-' : '+'}${parts.map((part) => String(part).padStart(2, '0')).join(':')}`
}

const units = [
  ['D', 86_400_000],
  ['H', 3_600_000],
  ['M', 60_000],
] as const

function spellLength(ms: number): string {
  let left = ms
  const counts = units.map(([unit, size]) => {
    const count = Math.floor(left / size)
    left -= count * size
    return [unit, count] as const
  })
  const [days, ...clock] = counts.map(([unit, count]) => (count === 0 ? '' : `${count}${unit}`))
  const seconds = left === 0 ? '' : `${left / 1000}S`
  const time = `${clock.join('')}${seconds}`
  return `P${days}${time === '' ? '' : `T${time}`}`
}
