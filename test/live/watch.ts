/** Viewers who refresh rolling windows while samples arrive, and a record of the served values. */
import { prometheus } from '../../src/backends/prometheus/index.ts'
import type { Outcome } from '../../src/core/decision.ts'
import { startWindowpane, type Windowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import type { TtlPolicy } from '../../src/ttl/policy.ts'
import { outcomeOf } from '../coalescing/viewer.ts'
import type { Prometheus } from '../servers/prometheus.ts'
import { rangeText } from '../servers/query.ts'
import { remoteWrite } from '../servers/remote-write.ts'
import { Arrivals, SCRAPE } from './arrivals.ts'
import { Asker } from './asker.ts'
import { bucketsOf, Truth } from './truth.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 15, 12)
const LONGEST = 60 * MINUTE

const panels = ['level', 'sum by (kind) (rate(work_total[1m]))', 'max by (host) (level)']

interface Viewer {
  readonly panel: number
  readonly window: number
  readonly every: number
  readonly offset: number
}

const viewers: readonly Viewer[] = [
  { panel: 0, window: 15 * MINUTE, every: 10_000, offset: 0 },
  { panel: 0, window: 15 * MINUTE, every: 10_000, offset: 3_000 },
  { panel: 0, window: LONGEST, every: 10_000, offset: 3_000 },
  { panel: 1, window: 30 * MINUTE, every: 10_000, offset: 1_000 },
  { panel: 1, window: 30 * MINUTE, every: 5_000, offset: 4_000 },
  { panel: 1, window: LONGEST, every: 30_000, offset: 2_000 },
  { panel: 2, window: 30 * MINUTE, every: 10_000, offset: 0 },
  { panel: 2, window: 30 * MINUTE, every: 10_000, offset: 7_000 },
]

/** The results of one Windowpane's answers. */
export interface Seen {
  readonly outcomes: Map<Outcome, number>
  buckets: number
  /** Buckets that were out of date, as they may be within their TTL. */
  outdated: number
  readonly violations: string[]
}

export interface Watched {
  /** One per factor. */
  readonly seen: readonly Seen[]
  /** How often the database changed its mind about a bucket. */
  readonly changes: number
}

interface Stand {
  readonly windowpane: Windowpane
  readonly asker: Asker
  readonly seen: Seen
}

/** Windowpanes side by side before one database, each with a multiple of the published TTLs. */
export async function watch(
  database: Prometheus,
  given: { minutes: number; factors: readonly number[] },
): Promise<Watched> {
  const clock = fakeClock(START)
  const stands = await Promise.all(given.factors.map((factor) => open(database, clock, stretched(factor))))
  const scene = new Scene(database, clock, given.minutes)
  await scene.writeWhatArrived()
  for (let second = 1; second <= given.minutes * 60; second++) {
    await clock.advance(1000)
    await scene.writeWhatArrived()
    const due = viewers.filter(({ every, offset }) => (second * 1000 - offset) % every === 0)
    await Promise.all(stands.flatMap((stand) => due.map((viewer) => scene.show(stand, viewer))))
  }
  await Promise.all(stands.map((stand) => close(stand)))
  return { seen: stands.map(({ seen }) => seen), changes: scene.changes }
}

const published = ladder()

const stretched = (factor: number): TtlPolicy => ({
  ...published,
  capMs: factor * published.capMs,
  ttl: (age) => factor * published.ttl(age),
})

async function open(database: Prometheus, clock: FakeClock, policy: TtlPolicy): Promise<Stand> {
  const backend = prometheus({ settledAgeMs: LONGEST, maxBuckets: defaultLimits.maxBuckets })
  const listen = '127.0.0.1:0'
  const windowpane = await startWindowpane({ upstream: database.url, backend, listen, clock, policy })
  const seen = { outcomes: new Map(), buckets: 0, outdated: 0, violations: [] }
  return { windowpane, asker: new Asker(windowpane.url), seen }
}

async function close({ windowpane, asker }: Stand): Promise<void> {
  await asker.close()
  await windowpane.close()
}

class Scene {
  readonly #database: Prometheus
  readonly #clock: FakeClock
  readonly #arrivals: Arrivals
  readonly #truths = panels.map(() => new Truth())

  constructor(database: Prometheus, clock: FakeClock, minutes: number) {
    this.#database = database
    this.#clock = clock
    this.#arrivals = new Arrivals(START - LONGEST - 10 * MINUTE, START + minutes * MINUTE)
  }

  get changes(): number {
    return this.#truths.reduce((sum, truth) => sum + truth.changes, 0)
  }

  /** After every write the database is queried for the current truth, a little way into the future too. */
  async writeWhatArrived(): Promise<void> {
    const now = this.#clock.now()
    const series = this.#arrivals.due(now)
    if (series.length === 0) return
    await remoteWrite(this.#database.url, series)
    const range = { start: START - LONGEST, end: stepBefore(now) + 4 * SCRAPE, stepMs: SCRAPE }
    await Promise.all(
      panels.map(async (query, i) => {
        const said = bucketsOf(await rangeText(this.#database.url, { ...range, query }))
        this.#truths[i]!.record(now, said, range)
      }),
    )
  }

  async show({ asker, seen }: Stand, viewer: Viewer): Promise<void> {
    const at = this.#clock.now()
    const end = stepBefore(at)
    const range = { start: end - viewer.window, end, stepMs: SCRAPE }
    const answer = await asker.ask({ ...range, query: panels[viewer.panel]! })
    const outcome = outcomeOf(answer).split('/')[0] as Outcome
    seen.outcomes.set(outcome, (seen.outcomes.get(outcome) ?? 0) + 1)
    const served = bucketsOf(answer.body)
    const truth = this.#truths[viewer.panel]!
    for (let bucket = range.start; bucket <= range.end; bucket += SCRAPE) {
      const content = served.get(bucket) ?? ''
      seen.buckets++
      if (truth.isCurrent(bucket, content)) continue
      seen.outdated++
      if (truth.mayBeServed(bucket, content, { at, policy: published })) continue
      seen.violations.push(`${panels[viewer.panel]} at ${at}: ${bucket} was ${content} (${outcome})`)
    }
  }
}

const stepBefore = (instant: number): number => Math.floor(instant / SCRAPE) * SCRAPE
