/**
 * Series of which VictoriaMetrics estimates other lookbacks in every window: samples at unsteady times, gaps, series that
 * come and go, counters that fall back to zero, and slow ones. The same on every machine.
 */
import { HOUR, MINUTE, type Random, randomFrom } from '../data/series.ts'

export const END = Date.parse('2026-01-15T12:00:00Z')
export const START = END - 6 * HOUR

interface Spec {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly intervalMs?: number
  /** How far from its time a sample may be. */
  readonly jitterMs?: number
  readonly from?: number
  readonly to?: number
  /** Whether there is a sample at all. */
  readonly has?: (t: number, random: Random) => boolean
  readonly value: (index: number) => number
}

const hosts = ['a', 'b', 'c', 'd'] as const

/** Nothing for eight minutes in the second hour, and for two in the fourth. */
function hasGaps(t: number): boolean {
  const at = t - START
  return !(at > HOUR && at < HOUR + 8 * MINUTE) && !(at > 3 * HOUR && at < 3 * HOUR + 2 * MINUTE)
}

const flaps = (_t: number, random: Random) => random() > 0.35

function ofHost(host: string, number: number): Spec[] {
  // The index has job and instance before all others, so series are not in the order of the printed labels.
  const labels = {
    a: `${9 - number}`,
    host,
    instance: `${number % 2}`,
    job: number === 0 ? 'web' : 'db',
    zone: host,
  }
  return [
    { name: 'steady', labels, value: (i) => (i * 7 + number) % 97 },
    { name: 'gappy', labels, jitterMs: 40, has: hasGaps, value: (i) => (i * 5 + number) % 89 },
    { name: 'flappy', labels, jitterMs: 300, has: flaps, value: (i) => ((i * 3 + number) % 83) / 8 },
    { name: 'slow', labels, intervalMs: 5 * MINUTE, value: (i) => (i * 3 + number) % 83 },
    { name: 'requests_total', labels, jitterMs: 20, value: (i) => (i % 300) * 11 + number },
    {
      ...{ name: 'fleeting', labels, value: (i: number) => 1000 + i * 400 },
      ...{ from: START + HOUR + number * 20 * MINUTE, to: END - HOUR - number * 7 * MINUTE },
    },
    ...['0.1', '1', '+Inf'].map((le, bucket) => ({
      name: 'latency_bucket',
      labels: { ...labels, le },
      value: (i: number) => i * (bucket + 1) + bucket * number,
    })),
  ]
}

const odd: Spec = {
  name: 'odd',
  labels: { Upper: 'ü "\\\\" <&>', empty: '' },
  value: (i) => 10 ** ((i % 40) - 20),
}

/** Every sample as a line of text. */
export function* lines(): Generator<string> {
  for (const spec of [...hosts.flatMap(ofHost), odd]) yield* linesOf(spec)
}

function* linesOf(spec: Spec): Generator<string> {
  const { name, intervalMs = 15_000, jitterMs = 0, from = START, to = END, has = () => true } = spec
  const random = randomFrom(name + JSON.stringify(spec.labels))
  const labels = Object.entries(spec.labels).map(
    ([label, value]) => `${label}="${value.replaceAll('"', '\\"')}"`,
  )
  for (let t = from, index = 0; t < to; t += intervalMs, index++) {
    const at = t + Math.round((random() * 2 - 1) * jitterMs)
    if (has(t, random)) yield `${name}{${labels.join(',')}} ${spec.value(index)} ${at}`
  }
}
