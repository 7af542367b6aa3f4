/** Windowpane before a scripted database, on a clock that the test moves. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Backend } from '../../src/backends/backend.ts'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import type { Budget } from '../../src/core/budget.ts'
import type { Interval } from '../../src/core/interval.ts'
import { startWindowpane, type Windowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits, type Limits } from '../../src/proxy/limits.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { HANG_MS } from '../wait.ts'
import { Lookups } from './lookups.ts'
import { matrixOf, type Range } from './matrix.ts'
import { ScriptedUpstream } from './upstream.ts'
import { type Visit, visit } from './viewer.ts'

/** A test with a time limit: a missing event is a failure, not a run that hangs. */
export const scene = (name: string, play: (t: TestContext) => Promise<void>): void => {
  void test(name, { timeout: HANG_MS }, play)
}

export const STEP = 15_000
/** The clock begins here; bucket 0 lies four hours before, so that the first 900 buckets are settled. */
export const NOW = Date.UTC(2026, 0, 1, 12)
const ORIGIN = NOW - 4 * 3_600_000

export const rangeOf = ({ from, to }: Interval): Range => ({
  start: ORIGIN + from * STEP,
  end: ORIGIN + (to - 1) * STEP,
  step: STEP,
})

const intervalOf = ({ start, end }: Range): Interval => ({
  from: (start - ORIGIN) / STEP,
  to: (end - ORIGIN) / STEP + 1,
})

/** The database's own answer. */
export const direct = (window: Interval): string => matrixOf(rangeOf(window))

export interface ProxyRigOptions {
  readonly limits?: Partial<Limits>
  /** Puts something between the engine and the memory store. */
  readonly wrap?: (store: Store) => Store
  /** The same for the backend. */
  readonly wrapBackend?: (backend: Backend) => Backend
}

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly parameters?: Readonly<Record<string, string>>
  readonly isReading?: boolean
}

export class ProxyRig {
  readonly upstream: ScriptedUpstream
  readonly clock: FakeClock
  readonly #lookups: Lookups
  readonly #memory: () => { store: Store; budget: Budget }
  readonly #windowpane: Windowpane

  constructor(parts: {
    upstream: ScriptedUpstream
    clock: FakeClock
    lookups: Lookups
    memory: () => { store: Store; budget: Budget }
    windowpane: Windowpane
  }) {
    this.upstream = parts.upstream
    this.clock = parts.clock
    this.#lookups = parts.lookups
    this.#memory = parts.memory
    this.#windowpane = parts.windowpane
  }

  get url(): string {
    return this.#windowpane.url
  }

  ask(window: Interval, options: AskOptions = {}): Visit {
    const { start, end, step } = rangeOf(window)
    const parameters = new URLSearchParams({
      query: 'load',
      start: String(start / 1000),
      end: String(end / 1000),
      step: String(step / 1000),
      ...options.parameters,
    })
    return visit(`${this.url}/api/v1/query_range?${parameters}`, options.headers, options.isReading)
  }

  /** The queries to the database, in bucket numbers. */
  get asked(): Interval[] {
    return this.upstream.asked.map(({ range }) => intervalOf(range))
  }

  get lookups(): number {
    return this.#lookups.count
  }

  /** Until so many requests have looked into the store, and have gone on as far as they can. */
  untilLookups(count: number): Promise<void> {
    return this.#lookups.until(count)
  }

  /** Sends a request and returns when it waits for a silent database. */
  async askAndSettle(window: Interval, options: AskOptions = {}): Promise<Visit> {
    const before = this.lookups
    const asking = this.ask(window, options)
    await this.untilLookups(before + 1)
    return asking
  }

  /** Until Windowpane has noticed all events on its connections before this call. */
  async roundTrips(): Promise<void> {
    for (let i = 0; i < 3; i++) assert.equal((await visit(`${this.url}/-/healthy`).answer).status, 200)
  }

  forgetEverything(): void {
    const { store } = this.#memory()
    for (const [key] of [...(store.shapes() as Iterable<readonly [string, unknown]>)]) store.remove(key)
  }

  /** No timer, no reserved byte, no flight: a forgotten window is fetched again, once, and answered. */
  async assertNothingLeft(window: Interval): Promise<void> {
    await this.roundTrips()
    assert.equal(this.clock.pending, 0, 'timers are left')
    this.forgetEverything()
    assert.equal(this.#memory().budget.used, 0, 'memory is left reserved')
    const before = this.upstream.asked.length
    this.upstream.script = (asked) => asked.answer()
    assert.equal((await this.ask(window).answer).body, direct(window))
    assert.equal(this.upstream.asked.length, before + 1)
  }
}

export async function openServer(t: TestContext, options: ProxyRigOptions = {}): Promise<ProxyRig> {
  const clock = fakeClock(NOW)
  const upstream = await ScriptedUpstream.start()
  const lookups = new Lookups()
  let memory: { store: Store; budget: Budget } | undefined
  const limits = { ...defaultLimits, ...options.limits }
  const backend: Backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: limits.maxBuckets })
  const windowpane = await startWindowpane({
    upstream: upstream.url,
    backend: options.wrapBackend?.(backend) ?? backend,
    listen: '127.0.0.1:0',
    limits,
    clock,
    store: (budget) => {
      const store = memoryStore({ ...limits, clock, budget })
      memory = { store, budget }
      return lookups.of(options.wrap?.(store) ?? store)
    },
  })
  t.after(async () => {
    const closed = windowpane.close()
    await clock.advance(limits.drainMs)
    await closed
    await upstream.close()
  })
  return new ProxyRig({ upstream, clock, lookups, memory: () => memory!, windowpane })
}
