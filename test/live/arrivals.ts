/** Samples that come in time, late, and out of order, in simulated time and always the same. */
import { fakeClock } from '../../src/testing/fake-clock.ts'
import type { Sample, TimeSeries } from '../servers/remote-write.ts'

export const SCRAPE = 15_000
const MINUTE = 60_000

interface Arrival {
  readonly at: number
  readonly series: string
  readonly sample: Sample
}

type Delay = (random: () => number, t: number) => number

/** Per kind of source, how long after its instant a sample arrives. */
const kinds: Readonly<Record<string, Delay>> = {
  prompt: () => 0,
  lagging: () => 25_000,
  jumpy: (random) => Math.floor(random() * 90_000),
  // A batch job that reports once in three minutes.
  batched: (_random, t) => 3 * MINUTE - (t % (3 * MINUTE)),
  // Every now and then a sample is found again long after.
  forgetful: (random) => (random() < 0.15 ? 2 * MINUTE + Math.floor(random() * 18 * MINUTE) : 0),
}

export class Arrivals {
  readonly #pending: Arrival[] = []

  constructor(from: number, to: number) {
    const { random } = fakeClock()
    for (const [kind, delay] of Object.entries(kinds)) {
      for (const host of ['a', 'b']) this.#schedule({ kind, host }, { from, to, random, delay })
    }
    this.#pending.sort((a, b) => a.at - b.at)
  }

  /** The samples that arrive up to `now`, by series, each in order of time. */
  due(now: number): TimeSeries[] {
    const series = new Map<string, Sample[]>()
    while (this.#pending.length > 0 && this.#pending[0]!.at <= now) {
      const { series: labels, sample } = this.#pending.shift()!
      series.set(labels, [...(series.get(labels) ?? []), sample])
    }
    return [...series].map(([labels, samples]) => ({
      labels: JSON.parse(labels) as Record<string, string>,
      samples: samples.sort((a, b) => Number(a.t) - Number(b.t)),
    }))
  }

  #schedule(
    labels: { kind: string; host: string },
    given: { from: number; to: number; random: () => number; delay: Delay },
  ): void {
    for (let t = given.from; t <= given.to; t += SCRAPE) {
      const at = t + given.delay(given.random, t)
      const n = (t - given.from) / SCRAPE
      const gauge = { t, value: Math.floor(given.random() * 1000) }
      const counter = { t, value: n * 20 + (n % 7) }
      this.#pending.push({ at, series: JSON.stringify({ __name__: 'level', ...labels }), sample: gauge })
      this.#pending.push({
        at,
        series: JSON.stringify({ __name__: 'work_total', ...labels }),
        sample: counter,
      })
    }
  }
}
