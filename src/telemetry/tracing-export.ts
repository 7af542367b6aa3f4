/**
 * Sends traced requests to an OpenTelemetry collector, in batches and in the background. The queue is bounded: spans
 * that do not fit are dropped and counted. Nothing here can delay or break a request.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Clock, Timer } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { newSpanId } from '../core/trace-context.ts'
import { channelNames, type FetchMessage, type RequestMessage } from './channels.ts'
import { fetchSpan, type OtlpSpan, otlpBody, requestSpans } from './tracing-otlp.ts'

/** `later`: the collector may take it yet; `refused`: it never will. */
export type Posted = { readonly kind: 'taken' } | { readonly kind: 'later' | 'refused'; readonly why: string }

export interface TraceExporterOptions {
  readonly clock: Clock
  readonly version: string
  /** Sends a body to the collector; does not throw, and does not take for ever. */
  readonly post: (body: string) => Promise<Posted>
  /** Hears how each batch fared. */
  readonly onPosted?: (posted: Posted) => void
}

const maxQueued = 2048
const maxBatch = 512
const batchDelayMs = 5_000
const maxDelayMs = 60_000
/** At shutdown, spans get this long to be sent. */
const closingMs = 2_000

export class TraceExporter {
  readonly #options: TraceExporterOptions
  #queue: OtlpSpan[] = []
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #failures = 0
  #sent = 0
  #dropped = 0

  constructor(options: TraceExporterOptions) {
    this.#options = options
    subscribe(channelNames.request, this.#onRequest)
    subscribe(channelNames.fetch, this.#onFetch)
  }

  /** Spans since the start. */
  get figures(): { readonly sent: number; readonly dropped: number; readonly queued: number } {
    return { sent: this.#sent, dropped: this.#dropped, queued: this.#queue.length }
  }

  /** Stops tracing for this exporter; sends the queue, if that is quickly done. */
  async close(): Promise<void> {
    unsubscribe(channelNames.request, this.#onRequest)
    unsubscribe(channelNames.fetch, this.#onFetch)
    this.#timer?.cancel()
    this.#timer = undefined
    // Spans that are not sent in time count as dropped.
    await inTime(this.#drain(), this.#options.clock, closingMs).catch(() => {})
    this.#dropped += this.#queue.length
    this.#queue = []
  }

  readonly #onRequest = (message: unknown): void =>
    this.#add(() => requestSpans(message as RequestMessage, () => newSpanId(this.#options.clock)))

  readonly #onFetch = (message: unknown): void => this.#add(() => [fetchSpan(message as FetchMessage)])

  /** All spans of a message or none: half a request would mislead. */
  #add(makeSpans: () => readonly OtlpSpan[]): void {
    let spans: readonly OtlpSpan[]
    try {
      spans = makeSpans()
    } catch {
      // The publisher does not catch exceptions of a subscriber.
      this.#dropped++
      return
    }
    if (this.#queue.length + spans.length > maxQueued) this.#dropped += spans.length
    else {
      this.#queue.push(...spans)
      this.#schedule()
    }
  }

  #schedule(): void {
    if (this.#sending !== undefined || this.#queue.length === 0) return
    const isFull = this.#queue.length >= maxBatch && this.#failures === 0
    if (this.#timer !== undefined && !isFull) return
    this.#timer?.cancel()
    const delayMs = isFull ? 0 : Math.min(batchDelayMs * 2 ** this.#failures, maxDelayMs)
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#timer = undefined
      void this.#send().then(() => this.#schedule())
    })
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  /** A batch stays in the queue, and counts against its bound, until its result is known. */
  async #sendBatch(): Promise<void> {
    const batch = this.#queue.slice(0, maxBatch)
    const posted = await this.#options.post(otlpBody(batch, this.#options.version))
    if (posted.kind === 'later') this.#failures++
    else {
      this.#failures = 0
      this.#queue = this.#queue.slice(batch.length)
      if (posted.kind === 'taken') this.#sent += batch.length
      else this.#dropped += batch.length
    }
    this.#options.onPosted?.(posted)
  }

  async #drain(): Promise<void> {
    this.#failures = 0
    while (this.#queue.length > 0 && this.#failures === 0) await this.#send()
  }
}
