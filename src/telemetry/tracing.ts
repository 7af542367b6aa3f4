/**
 * Tracing of one database's requests: which belong to a trace, their ids, and the messages to subscribers. A traced
 * request carries its own span in `traceparent` from here on, so that every query sent for it becomes a child of it.
 */
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { headerOf } from '../core/headers.ts'
import { formatTraceparent, newSpanId, newTraceId, parseTraceparent } from '../core/trace-context.ts'
import {
  type FetchMessage,
  fetchChannel,
  type RequestMessage,
  requestChannel,
  type ServerAddress,
  type SpanIds,
} from './channels.ts'
import { recordOf, type Visit } from './record.ts'
import type { BackendHooks } from './telemetry.ts'

export interface TracingOptions {
  readonly clock: Clock
  /** The name of the database in the configuration. */
  readonly backend: string
  readonly server?: ServerAddress | undefined
  /** Which share of the requests without a `traceparent` of their own is traced; all, if not given. */
  readonly sampleRatio?: (() => number) | undefined
}

/** A request that is to be sent to the database on behalf of another. */
export type TracedQuery = Pick<WireRequest, 'method' | 'path' | 'headers'>

/** Longer ones may be dropped (W3C Trace Context §3.3.1.5). */
const maxStateChars = 512
/** Clocks are read to the millisecond; beyond twice that, the wall clock was set or has drifted. */
const maxSkewMs = 2

export class Tracing {
  readonly #options: TracingOptions
  #epoch = Number.NaN

  constructor(options: TracingOptions) {
    this.#options = options
  }

  /** For the Handler of the database: the hooks it has, and tracing. */
  around(hooks?: BackendHooks) {
    return {
      ...hooks,
      trace: (headers: HeaderList) => this.begin(headers),
      observe: (visit: Visit) => {
        hooks?.observe(visit)
        this.end(visit)
      },
    }
  }

  /** Undefined where the request is not traced. A client's own decision counts; without one, the dice do. */
  begin(headers: HeaderList): SpanIds | undefined {
    if (!requestChannel.hasSubscribers && !fetchChannel.hasSubscribers) return undefined
    const { clock, sampleRatio } = this.#options
    const parent = parseTraceparent(headerOf(headers, 'traceparent') ?? '')
    const isSampled = parent === undefined ? clock.random() < (sampleRatio?.() ?? 1) : parent.isSampled
    if (!isSampled) return undefined
    const state = parent && headerOf(headers, 'tracestate')
    return {
      traceId: parent?.traceId ?? newTraceId(clock),
      spanId: newSpanId(clock),
      parentId: parent?.spanId,
      traceState: state === undefined || state.length > maxStateChars ? undefined : state,
    }
  }

  /** Publishes a request whose response is complete, where it was traced. */
  end(visit: Visit): void {
    const { trace, path } = visit
    if (trace === undefined || !requestChannel.hasSubscribers) return
    const record = recordOf(this.#options.backend, visit)
    const endedAt = this.#now()
    const message: RequestMessage = {
      ...trace,
      startedAt: endedAt - record.totalMs,
      endedAt,
      path,
      record,
    }
    requestChannel.publish(message)
  }

  /** Undefined where the query belongs to no traced request. */
  beginFetch({ method, path, headers }: TracedQuery): FetchSpan | undefined {
    if (!fetchChannel.hasSubscribers && !requestChannel.hasSubscribers) return undefined
    const parent = parseTraceparent(headerOf(headers, 'traceparent') ?? '')
    if (parent === undefined || !parent.isSampled) return undefined
    const { backend, server, clock } = this.#options
    const span: SpanIds = {
      traceId: parent.traceId,
      spanId: newSpanId(clock),
      parentId: parent.spanId,
      traceState: headerOf(headers, 'tracestate'),
    }
    const about = { ...span, backend, method, path, server, startedAt: this.#now() }
    return new FetchSpan(tracedHeaders(headers, span), (ending) => {
      if (!fetchChannel.hasSubscribers) return
      const message: FetchMessage = { ...about, endedAt: this.#now(), ...ending }
      fetchChannel.publish(message)
    })
  }

  /** The wall clock with fractions: spans of one trace must lie in each other to less than a millisecond. */
  #now(): EpochMs {
    const { clock } = this.#options
    const elapsed = clock.elapsed()
    const epoch = clock.now() - elapsed
    if (!(Math.abs(epoch - this.#epoch) <= maxSkewMs)) this.#epoch = epoch
    return this.#epoch + elapsed
  }
}

type FetchEnd = Pick<FetchMessage, 'status' | 'bytes' | 'failure'>

/** A query to the database under way. */
export class FetchSpan {
  /** The headers to send: they make the database's work a child of this span. */
  readonly headers: HeaderList
  status: number | undefined
  bytes = 0
  readonly #report: (ending: FetchEnd) => void
  #isOver = false

  constructor(headers: HeaderList, report: (ending: FetchEnd) => void) {
    this.headers = headers
    this.#report = report
  }

  end(failure?: FetchMessage['failure']): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#report({ status: this.status, bytes: this.bytes, failure })
  }
}

/** Headers with the span in the place of the client's. A state goes with the parent it came with. */
export function tracedHeaders(headers: HeaderList, span: SpanIds): HeaderList {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    const isReplaced = name === 'traceparent' || (name === 'tracestate' && span.traceState === undefined)
    if (!isReplaced) kept.push(name, headers[i + 1]!)
  }
  kept.push('traceparent', formatTraceparent({ ...span, isSampled: true }))
  return kept
}
