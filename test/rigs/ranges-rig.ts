/**
 * An engine rig whose backend takes several ranges, which need not end where cells do. Times are in minutes of the day
 * before.
 */
import type { Plan } from '../../src/backends/backend.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import type { Explanation } from '../../src/engine/explain/explain.ts'
import type { Span } from '../../src/testing/backend-runs.ts'
import { printSpans } from '../../src/testing/cell-ranges.ts'
import { modelOf, unite } from '../../src/testing/pane-model.ts'
import { type AskOptions, EngineRig, minuteMs, type RigOptions, type Served } from './engine-rig.ts'

/** [from, to) in minutes, or parts of them, after `start`. */
export type Range = readonly [from: number, to: number]

export class RangesRig extends EngineRig {
  /** Where minutes are counted from. */
  readonly start: EpochMs

  constructor(options: RigOptions = {}) {
    super({ ...options, several: true })
    this.start = this.openCell - 1440 * minuteMs
  }

  /** How many minutes after `start` the open cell begins. */
  get openMinute(): number {
    return (this.openCell - this.start) / minuteMs
  }

  spans(ranges: readonly Range[]): readonly Span[] {
    return ranges.map(([from, to]) => ({
      from: this.start + Math.round(from * minuteMs),
      to: this.start + Math.round(to * minuteMs),
    }))
  }

  planRanges(ranges: readonly Range[], more = ''): Plan {
    return this.planOf(`q=up&ranges=${printSpans(this.spans(ranges))}&step=${minuteMs}${more}`)
  }

  askRanges(ranges: readonly Range[], how: AskOptions = {}): Promise<Served> {
    return this.serve(this.planRanges(ranges), how)
  }

  shadowRanges(ranges: readonly Range[], how: AskOptions = {}): Promise<Served> {
    return this.shadowPlan(this.planRanges(ranges), how)
  }

  explainRanges(ranges: readonly Range[], how: AskOptions = {}): Promise<Explanation> {
    return this.explainPlan(this.planRanges(ranges), how)
  }

  /** The database's own response. */
  truthRanges(ranges: readonly Range[]): string {
    return this.database.truthOf(this.spans(ranges), { step: minuteMs })
  }

  /** The queries to the database since the last call: the ranges of each, in minutes. */
  asked(): string[] {
    return this.database.asked
      .splice(0)
      .map(({ ranges }) =>
        ranges!
          .replace(/\d+/g, (instant) => String((Number(instant) - this.start) / minuteMs))
          .replaceAll(',', ' '),
      )
  }

  /** Every bucket in the store, as minutes after `start`, with its row. */
  async stored(): Promise<ReadonlyMap<number, string>> {
    const rows = new Map<number, string>()
    for await (const [key] of this.store.shapes()) {
      const everything = { from: 0, to: Number.MAX_SAFE_INTEGER }
      const found = await this.store.read(key, everything)
      const { clocks, columns } = unite((found?.panes ?? []).map(modelOf))
      const texts = columns.get('')?.lanes[0]
      for (const bucket of clocks.keys()) rows.set(bucket - this.start / minuteMs, texts?.get(bucket) ?? '')
    }
    return rows
  }
}
