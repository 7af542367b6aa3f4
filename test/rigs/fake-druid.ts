/**
 * A Druid of one data source on a fake clock, for tests and simulations around its segments. It answers timeseries and
 * lists its segments: days that are compacted, hours behind them, and the last ones still being written.
 */
import type { WireRequest } from '../../src/backends/backend.ts'
import type { Clock, EpochMs } from '../../src/core/clock.ts'
import { iso } from '../../src/core/text.ts'
import type { Broken, ResponseHandler, Upstream, UpstreamCall } from '../../src/engine/ports.ts'
import type { Span } from '../../src/testing/backend-runs.ts'
import { type Reply, replyAfter } from './fake-reply.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** Data comes in pieces of this length. */
const pieceMs = 5 * minuteMs
/** How long after its end an hour is still being written. */
const writingMs = 70 * minuteMs
/** When, on the next day but one, the hours of a day become one segment. */
const compactionMs = 3 * hourMs

const steps: Readonly<Record<string, number>> = { five_minute: pieceMs, hour: hourMs, day: dayMs }
const header = '["datasource","start","end","version","partition_num","is_realtime"]'

export interface AskedDruid {
  readonly spans: readonly Span[]
  readonly buckets: number
}

interface Append extends Span {
  readonly partition: number
}

export class FakeDruid implements Upstream {
  readonly preferredEncoding = 'identity'
  readonly source = 'wiki'
  readonly asked: AskedDruid[] = []
  looks = 0
  /** The failure of a segment query, where set. */
  blindness: Reply | undefined
  /** From a look to its answer; the segments are those of the look. */
  lookLagMs = 0
  /** The failure of queries, where set. */
  failure: Broken | undefined
  readonly #clock: Clock
  readonly #begin: EpochMs
  readonly #revisions = new Map<EpochMs, number>()
  readonly #appends: Append[] = []

  /** With data since `begin`, the beginning of a day. */
  constructor(clock: Clock, begin: EpochMs) {
    this.#clock = clock
    this.#begin = begin
  }

  /** Late rows for one piece: another segment beside those of its time. Returns the span of that. */
  append(at: EpochMs): Span {
    const piece = Math.floor(at / pieceMs) * pieceMs
    this.#revisions.set(piece, (this.#revisions.get(piece) ?? 0) + 1)
    const span = this.#finished().find(({ from, to }) => from <= at && at < to)!
    this.#appends.push({ ...span, partition: this.#appends.length + 1 })
    return span
  }

  send(request: WireRequest, _accept: string, handler: ResponseHandler): UpstreamCall {
    const isLook = request.path === '/druid/v2/sql'
    const reply = isLook ? this.#look() : this.#answer(request)
    return replyAfter({ clock: this.#clock, lagMs: isLook ? this.lookLagMs : 0 }, handler, () => reply)
  }

  /** The answer about whole buckets, read at this moment. */
  truth(span: Span, step: number): string {
    return `[${this.#rows(span, step).join(',')}]`
  }

  #look(): Reply {
    this.looks++
    if (this.blindness !== undefined) return this.blindness
    const lines = this.#segments().map((row) => JSON.stringify(row))
    return { status: 200, body: [header, ...lines, '', ''].join('\n') }
  }

  #answer({ body }: WireRequest): Reply {
    const query = JSON.parse(Buffer.from(body).toString()) as { granularity: string; intervals: string[] }
    const spans = query.intervals.map((text) => {
      const [from, to] = text.split('/').map((each) => Date.parse(each))
      return { from: from!, to: to! }
    })
    const step = steps[query.granularity]!
    const buckets = spans.reduce((sum, { from, to }) => sum + (to - from) / step, 0)
    this.asked.push({ spans, buckets })
    if (this.failure !== undefined) return this.failure
    return { status: 200, body: `[${spans.flatMap((span) => this.#rows(span, step)).join(',')}]` }
  }

  #rows({ from, to }: Span, step: number): string[] {
    const rows: string[] = []
    for (let start = from; start < to; start += step) {
      let value = 0
      for (let piece = start; piece < start + step; piece += pieceMs) value += this.#valueAt(piece)
      rows.push(`{"timestamp":"${new Date(start).toISOString()}","result":{"n":${value}}}`)
    }
    return rows
  }

  /** One row per second while its time lasts. */
  #valueAt(piece: EpochMs): number {
    const arrived = Math.min(pieceMs, Math.max(0, this.#clock.now() - piece))
    return Math.floor(arrived / 1000) + 1000 * (this.#revisions.get(piece) ?? 0)
  }

  #segments(): (string | number)[][] {
    const row = (span: Span, partition: number, isRealtime: 0 | 1) => [
      ...[this.source, iso(span.from), iso(span.to), versionOf(span), partition, isRealtime],
    ]
    const finished = this.#finished()
    const kept = this.#appends.filter((each) =>
      finished.some((span) => span.from === each.from && span.to === each.to),
    )
    return [
      ...finished.map((span) => row(span, 0, 0)),
      ...kept.map((span) => row(span, span.partition, 0)),
      ...this.#written().map((span) => row(span, 0, 1)),
    ]
  }

  #finished(): Span[] {
    const now = this.#clock.now()
    const compacted = startOfDay(now - compactionMs) - dayMs
    const written = startOfHour(now - hourMs - writingMs) + hourMs
    return [...pieces(this.#begin, compacted, dayMs), ...pieces(compacted, written, hourMs)]
  }

  #written(): Span[] {
    const now = this.#clock.now()
    return pieces(startOfHour(now - hourMs - writingMs) + hourMs, now, hourMs)
  }
}

const startOfDay = (at: EpochMs): EpochMs => Math.floor(at / dayMs) * dayMs
const startOfHour = (at: EpochMs): EpochMs => Math.floor(at / hourMs) * hourMs
const versionOf = ({ from, to }: Span): string => iso(to - from === dayMs ? from + 2 * dayMs : from)

function pieces(from: EpochMs, to: EpochMs, length: number): Span[] {
  const all: Span[] = []
  for (let start = from; start < to; start += length) all.push({ from: start, to: start + length })
  return all
}
