/**
 * Publishes traced requests on channels of node:diagnostics_channel, for our exporter and for others. Without a
 * subscriber, no request is traced and no span is created.
 */
import { type Channel, channel } from 'node:diagnostics_channel'
import type { EpochMs } from '../core/clock.ts'
import type { StaleReason } from '../core/decision.ts'
import type { RequestRecord } from './record.ts'

/** One span among others, by the ids of W3C Trace Context. */
export interface SpanIds {
  readonly traceId: string
  readonly spanId: string
  /** Of the client's span, where it named one; of a query to the database: that of the request. */
  readonly parentId: string | undefined
  /** The client's `tracestate`. */
  readonly traceState: string | undefined
}

/** On `windowpane:request`: a request whose answer is over. */
export interface RequestMessage extends SpanIds {
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: EpochMs
  readonly endedAt: EpochMs
  readonly path: string
  readonly record: RequestRecord
}

/** On `windowpane:fetch`: a query to the database that is over, for the cache or passed on. */
export interface FetchMessage extends SpanIds {
  readonly startedAt: EpochMs
  readonly endedAt: EpochMs
  readonly backend: string
  readonly method: string
  readonly path: string
  /** Where there is only one. */
  readonly server: ServerAddress | undefined
  /** Undefined where the database did not respond. */
  readonly status: number | undefined
  /** Bytes of the body as they came. */
  readonly bytes: number
  /** Why there is no whole answer. */
  readonly failure: StaleReason | 'given_up' | undefined
}

export interface ServerAddress {
  readonly address: string
  readonly port: number
}

export const channelNames = { request: 'windowpane:request', fetch: 'windowpane:fetch' } as const

export const requestChannel: Channel = channel(channelNames.request)
export const fetchChannel: Channel = channel(channelNames.fetch)
