/**
 * Requests as they happen, as server-sent events. Records are gathered and written a few times a second, away from the
 * requests themselves; records beyond the limit of one write are counted, and a reader that does not keep up is
 * dropped.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Recorded, Recorder } from '../../telemetry/recorder.ts'
import { type ListQuery, viewOfRecord } from './views.ts'

const flushEveryMs = 200
const beatEveryMs = 15_000
/** Events per flush; more than a reader can read anyway. */
const maxPending = 200
const maxUnreadBytes = 512 * 1024

export class LiveRequests {
  readonly #recorder: Recorder
  readonly #clock: Clock
  readonly #readers = new Set<Reader>()

  constructor(recorder: Recorder, clock: Clock) {
    this.#recorder = recorder
    this.#clock = clock
  }

  /** Returns false, and writes nothing, where too many read already. */
  open(request: IncomingMessage, response: ServerResponse, query: ListQuery): boolean {
    const reader = new Reader(response, this.#clock)
    const stop = this.#recorder.subscribe(query.filter, (recorded) => reader.push(recorded))
    if (stop === undefined) return false
    this.#readers.add(reader)
    response.once('close', () => {
      stop()
      reader.stop()
      this.#readers.delete(reader)
    })
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    // A reader that comes back begins where it was cut off.
    const last = Number(request.headers['last-event-id'] ?? query.after)
    const missed = last > 0 ? this.#recorder.list(query.filter, { limit: maxPending, after: last }) : []
    reader.begin(missed.reverse())
    return true
  }

  close(): void {
    for (const reader of this.#readers) reader.end()
  }
}

class Reader {
  readonly #response: ServerResponse
  readonly #clock: Clock
  #pending: Recorded[] = []
  #skipped = 0
  #flush: Timer | undefined
  #beat: Timer | undefined

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
  }

  begin(missed: readonly Recorded[]): void {
    this.#write(`: requests as they are answered\n\n${missed.map(eventOf).join('')}`)
    this.#scheduleBeat()
  }

  push(recorded: Recorded): void {
    if (this.#pending.length >= maxPending) this.#skipped++
    else this.#pending.push(recorded)
    this.#flush ??= this.#clock.after(flushEveryMs, () => this.#send())
  }

  stop(): void {
    this.#flush?.cancel()
    this.#beat?.cancel()
  }

  end(): void {
    this.stop()
    this.#response.end()
  }

  #send(): void {
    this.#flush = undefined
    const events = this.#pending.map(eventOf)
    if (this.#skipped > 0) events.push(`event: skipped\ndata: {"count":${this.#skipped}}\n\n`)
    this.#pending = []
    this.#skipped = 0
    this.#write(events.join(''))
  }

  #write(text: string): void {
    this.#response.write(text)
    if (this.#response.writableLength > maxUnreadBytes) this.#response.destroy()
  }

  #scheduleBeat(): void {
    this.#beat = this.#clock.after(beatEveryMs, () => {
      this.#write(': beat\n\n')
      this.#scheduleBeat()
    })
  }
}

const eventOf = (recorded: Recorded): string =>
  `id: ${recorded.id}\nevent: request\ndata: ${JSON.stringify(viewOfRecord(recorded))}\n\n`
