/**
 * One answer of the database on its way to the client, untouched, and split on the side. Nothing that goes wrong on the
 * side is felt by the client: it only means that nothing is stored and nothing compared.
 */
import type { HeaderList, Sink } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import type { EpochMs } from '../../core/clock.ts'
import { headerOf } from '../../core/headers.ts'
import { measure } from '../../core/pane.ts'
import type { FetchedPanes } from '../fetch.ts'
import type { Broken, Exchange, ResponseHandler, StreamTarget } from '../ports.ts'
import type { SkipReason } from './log.ts'

export interface PassageOptions {
  readonly fetchedAt: EpochMs
  readonly sink: Sink
  readonly budget: Budget
  readonly maxAnswerBytes: number
  readonly target: StreamTarget
}

/** The client has what the database said; `broken` where that was nothing. */
export type Passed = Split | { readonly skipped: SkipReason; readonly broken?: Broken }

export interface Split {
  readonly fetched: FetchedPanes
  /** As the database sent it, free of content encoding; undefined where it was too long to keep. */
  readonly body: Buffer | undefined
  /** The room in the budget that pane and body take until they were compared. */
  readonly room: Room
}

const maxBodyBytes = 1024 * 1024

export class Passage implements ResponseHandler {
  /** Resolves when nothing more will be written to the client. */
  readonly over: Promise<Passed>
  readonly #options: PassageOptions
  readonly #room: Room
  #resolve!: (passed: Passed) => void
  #exchange: Exchange | undefined
  #sink: Sink | undefined
  #headers: HeaderList = []
  #hasBegun = false
  #isOver = false
  #received = 0
  #body: Buffer[] = []
  #skipped: SkipReason | undefined

  constructor(options: PassageOptions) {
    this.#options = options
    this.#room = new Room(options.budget)
    this.over = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Called once, with what `Upstream.send` gave. */
  sent(exchange: Exchange): void {
    this.#exchange = exchange
  }

  /** The client is gone: nobody else waits for this answer. */
  cancel(): void {
    this.#exchange?.cancel()
    this.#end({ skipped: 'client_gone' })
  }

  head(status: number, headers: HeaderList): void {
    this.#hasBegun = true
    this.#headers = headers
    if (status === 200) this.#sink = this.#options.sink
    else this.#skip('error_answer')
    this.#options.target.head(status, headers)
  }

  /** While it is split, the database sets the pace, and what the client has not taken counts in the budget. */
  raw(chunk: Uint8Array): void {
    const { target } = this.#options
    if (target.write(chunk) || this.#sink !== undefined) return
    this.#exchange?.pause()
    target.onDrain(() => this.#exchange?.resume())
  }

  data(chunk: Uint8Array): void {
    const sink = this.#sink
    if (sink === undefined) return
    this.#received += chunk.length
    if (this.#received > this.#options.maxAnswerBytes) this.#skip('too_large')
    else this.#keep(sink, chunk)
  }

  #keep(sink: Sink, chunk: Uint8Array): void {
    try {
      sink.write(chunk)
    } catch {
      this.#skip('unusable_answer')
      return
    }
    this.#keepBody(chunk)
    const kept = Math.min(this.#received, maxBodyBytes)
    const { budget, target } = this.#options
    // As for every answer: one may not push out all others.
    if (sink.held > budget.limit / 2) this.#skip('too_large')
    else if (!this.#room.take(sink.held + kept + target.unsent)) this.#skip('memory')
  }

  undecodable(): void {
    this.#skip('unusable_answer')
  }

  end(trailers: HeaderList): void {
    this.#options.target.end()
    this.#end(
      this.#sink === undefined
        ? { skipped: this.#skipped ?? 'unusable_answer' }
        : this.#split(this.#sink, trailers),
    )
  }

  failed(broken: Broken): void {
    if (this.#hasBegun) this.#options.target.abort()
    this.#end({ skipped: 'database_failed', ...(!this.#hasBegun && { broken }) })
  }

  #split(sink: Sink, trailers: HeaderList): Passed {
    const { fetchedAt } = this.#options
    try {
      const decomposed = sink.end(fetchedAt, { headers: this.#headers, trailers })
      if ('unusable' in decomposed) return { skipped: 'unusable_answer' }
      const { panes } = decomposed
      const held = panes.reduce((sum, pane) => sum + measure(pane), 0)
      const body = this.#received <= maxBodyBytes ? Buffer.concat(this.#body) : undefined
      if (!this.#room.take(held + (body?.length ?? 0))) return { skipped: 'memory' }
      const shareable = !/\bno-store\b/i.test(headerOf(this.#headers, 'cache-control') ?? '')
      const storable = decomposed.storable && shareable
      const fetched = { kind: 'panes', panes, headers: this.#headers, storable, shareable } as const
      return { fetched, body, room: this.#room }
    } catch {
      return { skipped: 'unusable_answer' }
    }
  }

  #keepBody(chunk: Uint8Array): void {
    if (this.#received > maxBodyBytes) this.#body = []
    // The chunk is valid only now.
    else this.#body.push(Buffer.from(chunk))
  }

  #skip(reason: SkipReason): void {
    this.#skipped ??= reason
    this.#sink = undefined
    this.#body = []
    this.#room.free()
    this.#exchange?.stopDecoding()
  }

  /** A client may go after its answer was handed over: that is its own affair. */
  #end(passed: Passed): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink = undefined
    this.#body = []
    if ('skipped' in passed) this.#room.free()
    this.#resolve(passed)
  }
}

/** One holder's part of the memory budget. */
export class Room {
  readonly #budget: Budget
  #bytes = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** So many bytes in all; false, and all as before, where there is no room. */
  take(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (more > 0 && !this.#budget.reserve(more)) return false
    if (more < 0) this.#budget.release(-more)
    this.#bytes = bytes
    return true
  }

  /** So many more. */
  add(bytes: number): boolean {
    return this.take(this.#bytes + bytes)
  }

  free(): void {
    this.take(0)
  }
}
