/** An interval cache in front of a fake Druid whose segments are watched, or not. For tests and simulations. */
import assert from 'node:assert/strict'
import type { Plan } from '../../src/backends/backend.ts'
import { druid } from '../../src/backends/druid/index.ts'
import type { SegmentSettings } from '../../src/backends/segment-watch.ts'
import { Budget } from '../../src/core/budget.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import { type Decision, newDecision } from '../../src/core/decision.ts'
import type { Explanation } from '../../src/engine/explain/explain.ts'
import { IntervalCache } from '../../src/engine/interval-cache.ts'
import { Marks } from '../../src/engine/marks.ts'
import { Witness } from '../../src/engine/witness.ts'
import { SegmentWatcher } from '../../src/proxy/upstream/witness.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Observer } from '../../src/telemetry/telemetry.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { FakeDruid } from './fake-druid.ts'
import { patientClient, planOf, requestFor, textOf } from './rig-requests.ts'

const dayMs = 86_400_000

export const usualSegments: SegmentSettings = { everyMs: 10_000, patienceMs: 60_000, maxAgeMs: dayMs }

export interface SegmentRigOptions {
  /** Nothing: they are not watched. */
  readonly segments?: SegmentSettings | undefined
  readonly log?: Observer['log']
}

export interface Panel {
  readonly granularity: 'five_minute' | 'hour' | 'day'
  readonly stepMs: number
  readonly from: EpochMs
  readonly to: EpochMs
}

export interface SeenPanel {
  readonly decision: Decision
  readonly text: string
  /** The database's current response. */
  readonly truth: string
  /** The buckets fetched because of it. */
  readonly fetched: number
}

const maxStaleMs = 900_000

export class SegmentRig {
  readonly clock = fakeClock(Date.UTC(2026, 5, 15))
  readonly begin = this.clock.now() - 40 * dayMs
  readonly druid = new FakeDruid(this.clock, this.begin)
  readonly marks: Marks
  readonly witness = new Witness()
  readonly watcher: SegmentWatcher | undefined
  readonly #backend = druid({ maxBuckets: 100_000 })
  readonly #cache: IntervalCache

  constructor({ segments, log }: SegmentRigOptions = {}) {
    const { clock, druid: upstream, witness } = this
    const backend = this.#backend
    const budget = new Budget(256 * 1024 * 1024)
    const retentionMs = (segments?.maxAgeMs ?? dayMs) + maxStaleMs
    const store = memoryStore({ clock, budget, retentionMs, maxBucketsPerShape: 100_000 })
    this.marks = new Marks({ clock, retentionMs })
    this.#cache = new IntervalCache({
      ...{ name: 'druid', backend, store, upstream, clock, budget, witness, maxStaleMs },
      marks: this.marks.of('druid'),
      policy: ladder(),
      maxAnswerBytes: 1 << 24,
      patienceMs: { slow: 10_000, down: 1000 },
      storeTimeoutMs: 1000,
      coalescing: true,
    })
    this.watcher =
      segments &&
      new SegmentWatcher({
        backend: 'druid',
        segments: backend.segments!,
        settings: segments,
        upstream,
        clock,
        witness,
        log,
        mark: (mark) => this.marks.add(mark),
      })
    this.watcher?.start()
  }

  async ask(panel: Panel): Promise<SeenPanel> {
    const decision = newDecision()
    const before = this.druid.asked.length
    const request = { ...requestFor(this.plan(panel)), client: patientClient }
    const answer = await this.#cache.serve(request, decision)
    const asked = this.druid.asked.slice(before)
    assert.ok(answer.kind === 'panes', answer.kind)
    return {
      decision,
      text: textOf(answer),
      truth: this.druid.truth(panel, panel.stepMs),
      fetched: asked.reduce((sum, { buckets }) => sum + buckets, 0),
    }
  }

  explain(panel: Panel): Promise<Explanation> {
    return this.#cache.explain(requestFor(this.plan(panel)))
  }

  plan({ granularity, from, to }: Panel): Plan {
    const body = JSON.stringify({
      ...{ queryType: 'timeseries', dataSource: this.druid.source, granularity },
      intervals: [`${new Date(from).toISOString()}/${new Date(to).toISOString()}`],
      aggregations: [{ type: 'count', name: 'n' }],
    })
    const request = {
      ...{ method: 'POST', path: '/druid/v2', search: '', body: Buffer.from(body) },
      headers: ['content-type', 'application/json'],
    }
    return planOf(this.#backend, request, this.clock.now())
  }
}
