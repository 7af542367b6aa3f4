/**
 * Bounds the time for planning long queries. A long text that was not seen before takes milliseconds to parse, in which
 * its thread serves no other client, and a client can send another text each time. A client that has used up its share
 * has its long queries forwarded unplanned. Short queries are always planned: that takes less than the rest of their
 * processing.
 */
import type { Bypass, WireRequest } from '../../backends/backend.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Budget } from '../../core/budget.ts'
import type { Clock } from '../../core/clock.ts'

export interface PlanningOptions {
  readonly clock: Clock
  readonly budget: Budget
  /** The share of one client in a burst. */
  readonly planningMs: number
}

/** Of query string and body together; dashboards rarely come near. */
const longFromBytes = 2048

export const queryBytes = ({ search, body }: Pick<WireRequest, 'search' | 'body'>): number =>
  search.length + body.length

export const isLong = (bytes: number): boolean => bytes >= longFromBytes

interface LongQuery {
  readonly bytes: number
  /** Of the client. */
  readonly address: string
}

/** Planning of a text that is remembered takes less, and costs a client nothing. */
const chargedFromMs = 0.5
/** Of a share, each second. */
const refilledPerSecond = 1 / 40
/** How many shares all clients have together. */
const allClientsShares = 2
const maxClients = 10_000

/** The most memory that a parser needs per byte of text, and per text. It is garbage when the plan is made. */
const parsedBytesPerByte = 64
const mostParsedBytes = 16 * 2 ** 20

export class Planning {
  readonly #options: PlanningOptions
  readonly #all: Share
  /** Only clients that were charged lately: one that is not here has its whole share. */
  readonly #clients = new BoundedMap<string, Share>({ maxEntries: maxClients })

  constructor(options: PlanningOptions) {
    this.#options = options
    this.#all = new Share(allClientsShares * options.planningMs)
  }

  /** Plans a long query, unless its client, or all clients together, have used up their share. */
  run<P>({ bytes, address }: LongQuery, plan: () => P | Bypass<string>): P | Bypass<string> {
    const { clock, budget } = this.#options
    const began = clock.elapsed()
    if (this.#all.isSpent(began) || this.#clients.get(address)?.isSpent(began) === true)
      return { bypass: 'planning_budget' }
    const room = Math.min(bytes * parsedBytesPerByte, mostParsedBytes)
    if (!budget.reserve(room)) return { bypass: 'memory_exhausted' }
    try {
      return plan()
    } finally {
      budget.release(room)
      const now = clock.elapsed()
      if (now - began >= chargedFromMs) this.#charge(address, now - began, now)
    }
  }

  #charge(address: string, ms: number, now: number): void {
    const share = this.#clients.get(address) ?? new Share(this.#options.planningMs)
    // Set again: the newest entry is evicted last.
    this.#clients.set(address, share)
    share.charge(ms, now)
    this.#all.charge(ms, now)
  }
}

/** A token bucket of milliseconds. */
class Share {
  readonly #maxMs: number
  #leftMs: number
  #countedAt = Number.NEGATIVE_INFINITY

  constructor(maxMs: number) {
    this.#maxMs = maxMs
    this.#leftMs = maxMs
  }

  isSpent(now: number): boolean {
    this.#refill(now)
    return this.#leftMs <= 0
  }

  /** The duration of a query is known only afterwards, so the last one may take more than is left. */
  charge(ms: number, now: number): void {
    this.#refill(now)
    this.#leftMs -= ms
  }

  #refill(now: number): void {
    const refilled = (this.#maxMs * refilledPerSecond * (now - this.#countedAt)) / 1000
    this.#leftMs = Math.min(this.#maxMs, this.#leftMs + refilled)
    this.#countedAt = now
  }
}
