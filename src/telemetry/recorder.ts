/**
 * The last requests, in a ring that is bounded in number and bytes, and its subscribers. Adding a record is a store
 * into an array; a subscriber must only queue the record and return.
 */
import type { Outcome } from '../core/decision.ts'
import { type RequestRecord, sizeOf } from './record.ts'

interface RecorderOptions {
  readonly maxRecords?: number
  readonly maxBytes?: number
  readonly maxSubscribers?: number
}

/** An absent member matches every record. */
export interface RecordFilter {
  readonly outcomes?: ReadonlySet<Outcome>
  readonly reasons?: ReadonlySet<string>
  readonly backend?: string
  /** A part of the shape's text, whatever the case. */
  readonly shape?: string
  readonly minMs?: number
}

export interface Recorded {
  /** Rises by one with every request. */
  readonly id: number
  readonly record: RequestRecord
}

type RecordListener = (recorded: Recorded) => void

export class Recorder {
  readonly #ring: (RequestRecord | undefined)[]
  readonly #maxBytes: number
  readonly #maxSubscribers: number
  readonly #subscribers = new Set<{ readonly filter: RecordFilter; readonly listener: RecordListener }>()
  /** Ids of the oldest record kept and of the next one. */
  #first = 1
  #next = 1
  #bytes = 0

  constructor({ maxRecords = 1000, maxBytes = 1024 * 1024, maxSubscribers = 16 }: RecorderOptions = {}) {
    this.#ring = new Array<RequestRecord | undefined>(maxRecords).fill(undefined)
    this.#maxBytes = maxBytes
    this.#maxSubscribers = maxSubscribers
  }

  get bytes(): number {
    return this.#bytes
  }

  get count(): number {
    return this.#next - this.#first
  }

  get subscribers(): number {
    return this.#subscribers.size
  }

  add(record: RequestRecord): void {
    if (this.count === this.#ring.length) this.#dropOldest()
    const id = this.#next++
    this.#ring[id % this.#ring.length] = record
    this.#bytes += sizeOf(record)
    while (this.#bytes > this.#maxBytes) this.#dropOldest()
    if (this.#subscribers.size === 0) return
    for (const { filter, listener } of this.#subscribers) {
      if (isMatch(record, filter)) listener({ id, record })
    }
  }

  /** The newest first; only those with an id above `after`. */
  list(filter: RecordFilter, { limit, after = 0 }: { limit: number; after?: number }): Recorded[] {
    const found: Recorded[] = []
    for (let id = this.#next - 1; id >= this.#first && id > after && found.length < limit; id--) {
      const record = this.#ring[id % this.#ring.length]!
      if (isMatch(record, filter)) found.push({ id, record })
    }
    return found
  }

  /** Returns how to stop, or undefined where too many look on already. */
  subscribe(filter: RecordFilter, listener: RecordListener): (() => void) | undefined {
    if (this.#subscribers.size >= this.#maxSubscribers) return undefined
    const subscriber = { filter, listener }
    this.#subscribers.add(subscriber)
    return () => void this.#subscribers.delete(subscriber)
  }

  #dropOldest(): void {
    const at = this.#first++ % this.#ring.length
    this.#bytes -= sizeOf(this.#ring[at]!)
    this.#ring[at] = undefined
  }
}

function isMatch(record: RequestRecord, filter: RecordFilter): boolean {
  const { outcomes, reasons, backend, shape, minMs } = filter
  if (outcomes !== undefined && !outcomes.has(record.outcome)) return false
  if (reasons !== undefined && !hasOne(record, reasons)) return false
  if (backend !== undefined && record.backend !== backend) return false
  if (minMs !== undefined && record.totalMs < minMs) return false
  return shape === undefined || record.shape.toLowerCase().includes(shape.toLowerCase())
}

/** Why a request was answered as it was, or why its response was not stored. */
const hasOne = ({ reason, unstored }: RequestRecord, reasons: ReadonlySet<string>): boolean =>
  reasons.has(reason ?? '') || (unstored !== undefined && reasons.has(unstored))
