/** Traced requests as spans of OpenTelemetry, in the JSON of OTLP/HTTP; names follow its semantic conventions. */
import type { EpochMs } from '../core/clock.ts'
import { shorten } from '../core/text.ts'
import type { FetchMessage, RequestMessage, SpanIds } from './channels.ts'
import { countBuckets, type RequestRecord } from './record.ts'

export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  /** Of `traceparent`: all that is exported was sampled. */
  readonly flags: 1
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly OtlpAttribute[]
  readonly status: { readonly code?: number; readonly message?: string }
}

export interface OtlpAttribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

type Attributes = Readonly<Record<string, string | number | undefined>>

const kinds = { internal: 1, server: 2, client: 3 } as const
const failed = 2
const maxPathChars = 256
const knownMethods = new Set(['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT'])

/** The request itself, then its phases; `newSpanId` makes the ids of these. */
export function requestSpans(message: RequestMessage, newSpanId: () => string): OtlpSpan[] {
  const { record, path, startedAt, endedAt } = message
  const method = methodOf(record.method)
  const isPlanned = record.stepMs > 0
  const failure = failureOf(record)
  const root = span(message, {
    // Paths are many, and span names must be few.
    name: isPlanned ? `${method} ${path}` : method,
    kind: kinds.server,
    times: [startedAt, endedAt],
    failure,
    attributes: {
      'http.request.method': method,
      'url.path': shorten(path, maxPathChars),
      'http.response.status_code': record.status || undefined,
      'http.response.body.size': record.bytes,
      'error.type': failure,
      'windowpane.backend': record.backend,
      'windowpane.outcome': record.outcome,
      'windowpane.reason': record.reason,
      'windowpane.key': record.key,
      'windowpane.buckets': isPlanned ? Math.round(countBuckets(record, record.from, record.to)) : undefined,
      'windowpane.asked': isPlanned ? record.asked : undefined,
    },
  })
  return [root, ...phaseSpans(message, newSpanId)]
}

/** Phases were measured, not when they began: they are laid end to end. */
function phaseSpans(
  { record, startedAt, endedAt, ...ids }: RequestMessage,
  newSpanId: () => string,
): OtlpSpan[] {
  const { planMs, lookupMs, fetchMs, key, stepMs } = record
  const planned = startedAt + planMs
  const found = planned + lookupMs
  const fetched = found + fetchMs
  const phases = [
    stepMs > 0 && { name: 'plan', times: [startedAt, planned] as const },
    key !== undefined && { name: 'lookup', times: [planned, found] as const },
    fetchMs > 0 && { name: 'fetch', times: [found, fetched] as const },
    { name: 'reply', times: [Math.min(fetched, endedAt), endedAt] as const },
  ]
  return phases
    .filter((phase) => phase !== false)
    .map((phase) =>
      span(
        { ...ids, spanId: newSpanId(), parentId: ids.spanId },
        { ...phase, kind: kinds.internal, attributes: {} },
      ),
    )
}

export function fetchSpan(message: FetchMessage): OtlpSpan {
  const { status, failure, server, bytes } = message
  const method = methodOf(message.method)
  const error = failure ?? (status !== undefined && status >= 400 ? String(status) : undefined)
  return span(message, {
    name: method,
    kind: kinds.client,
    times: [message.startedAt, message.endedAt],
    failure: failure === 'given_up' ? undefined : error,
    attributes: {
      'http.request.method': method,
      'url.path': shorten(message.path, maxPathChars),
      'server.address': server?.address,
      'server.port': server?.port,
      'http.response.status_code': status,
      'http.response.body.size': bytes,
      'error.type': error,
      'windowpane.backend': message.backend,
    },
  })
}

/** A client that left is no failure of ours, and an error of the query is the database's answer. */
function failureOf({ outcome, reason, status }: RequestRecord): string | undefined {
  if (reason === 'client_gone' || (outcome === 'error' && reason === 'database_refused')) return undefined
  if (outcome === 'error') return reason ?? 'internal'
  return status >= 500 ? (reason ?? String(status)) : undefined
}

const methodOf = (method: string): string => (knownMethods.has(method) ? method : '_OTHER')

interface SpanDraft {
  readonly name: string
  readonly kind: number
  readonly times: readonly [EpochMs, EpochMs]
  readonly failure?: string | undefined
  readonly attributes: Attributes
}

function span({ traceId, spanId, parentId, traceState }: SpanIds, draft: SpanDraft): OtlpSpan {
  const { name, kind, times, failure, attributes } = draft
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    ...(traceState !== undefined && { traceState }),
    flags: 1,
    name,
    kind,
    startTimeUnixNano: nanoseconds(times[0]),
    endTimeUnixNano: nanoseconds(times[1]),
    attributes: attributeList(attributes),
    status: failure === undefined ? {} : { code: failed, message: failure },
  }
}

/** Numbers cannot hold nanoseconds since 1970; microseconds they can. */
const nanoseconds = (instant: EpochMs): string => `${Math.round(instant * 1000)}000`

function attributeList(attributes: Attributes): OtlpAttribute[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return []
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }]
  })
}

export function otlpBody(spans: readonly OtlpSpan[], version: string): string {
  const resource = attributeList({ 'service.name': 'windowpane', 'service.version': version })
  const scopeSpans = [{ scope: { name: 'windowpane', version }, spans }]
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: resource }, scopeSpans }] })
}
