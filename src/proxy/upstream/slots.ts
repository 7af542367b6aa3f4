/**
 * Shares the connections to a database. Forwarded requests get a part of them, uploads that are still arriving a
 * smaller part, so that slow clients cannot keep the cache from querying the database. A client that reads a forwarded
 * response more slowly than the database sends it keeps its connection only as long as no other request waits for one.
 *
 * Where the number of concurrent queries is limited, further ones wait in one queue, in order and for a bounded time. A
 * query that cannot wait is refused.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import type { QueueFigures } from '../../telemetry/quota-families.ts'

/**
 * `fetch`: for the cache. `forward`: forwarded, and complete. `upload`: forwarded while it arrives. `probe`: only a
 * health check, and never delayed.
 */
export type SlotKind = 'fetch' | 'forward' | 'upload' | 'probe'

export interface Concurrency {
  readonly limit: number
  /** Further queries that may wait. */
  readonly queue: number
  /** How long one of them may wait. */
  readonly waitMs: number
}

export interface SlotUser {
  /** A connection may be used from now on. Called at most once. */
  start(): void
  /** The connection is needed for others. */
  cut(): void
  /** The query is not sent, because of the limit of concurrency. Called instead of `start`, never before `enter` has returned. */
  refuse(detail: string): void
}

/** A reader that takes nothing for this long, while others wait, loses its connection. */
const heldGraceMs = 2_000

export class Slots {
  readonly #clock: Clock
  readonly #waiting: Slot[] = []
  /** Those whose clients are slower than the database, the longest first. */
  readonly #held = new Set<Slot>()
  readonly #running: Record<SlotKind, number> = { fetch: 0, forward: 0, upload: 0, probe: 0 }
  readonly #connections: number
  readonly #concurrency: () => Concurrency
  #timer: Timer | undefined
  #waited = 0
  #waitedMs = 0
  #refused = 0

  /** `concurrency` is called for each query: a reload takes effect with the next one. */
  constructor(clock: Clock, connections: number, concurrency: () => Concurrency) {
    this.#clock = clock
    this.#connections = connections
    this.#concurrency = concurrency
  }

  get queue(): QueueFigures {
    return {
      length: this.#waiting.length,
      waited: this.#waited,
      waitedMs: this.#waitedMs,
      refused: this.#refused,
    }
  }

  enter(slot: Slot): void {
    // A reload may have raised the limit: waiting queries go first.
    if (this.#waiting.length > 0) this.#admit()
    if (this.#hasRoomFor(slot.kind)) this.#start(slot)
    else this.#wait(slot)
    this.#relieve()
  }

  leave(slot: Slot): void {
    this.#held.delete(slot)
    if (slot.isRunning) this.#running[slot.kind]--
    else this.#stopWaiting(slot)
    this.#admit()
  }

  hold(slot: Slot): void {
    slot.heldAt = this.#clock.elapsed()
    this.#held.add(slot)
    this.#relieve()
  }

  proceed(slot: Slot): void {
    this.#held.delete(slot)
  }

  #hasRoomFor(kind: SlotKind): boolean {
    if (kind === 'probe') return true
    const { fetch, forward, upload } = this.#running
    if (fetch + forward + upload >= this.#concurrency().limit) return false
    if (kind === 'fetch') return true
    if (forward + upload >= partOf(this.#connections, forwardShare)) return false
    return kind === 'forward' || upload < partOf(this.#connections, uploadShare)
  }

  #wait(slot: Slot): void {
    const { queue, waitMs } = this.#concurrency()
    if (this.#waiting.length >= queue) {
      queueMicrotask(() => this.#refuse(slot, `${this.#waiting.length} queries wait already`))
      return
    }
    this.#waiting.push(slot)
    slot.waitsSince = this.#clock.elapsed()
    slot.deadline = this.#clock.after(waitMs, () => this.#refuse(slot, `not sent within ${waitMs} ms`))
  }

  #refuse(slot: Slot, detail: string): void {
    if (slot.isOver) return
    this.#refused++
    slot.user.refuse(detail)
  }

  #stopWaiting(slot: Slot): void {
    slot.deadline?.cancel()
    const place = this.#waiting.indexOf(slot)
    if (place < 0) return
    this.#waiting.splice(place, 1)
    this.#waited++
    this.#waitedMs += this.#clock.elapsed() - slot.waitsSince
  }

  #start(slot: Slot): void {
    this.#running[slot.kind]++
    slot.isRunning = true
    slot.user.start()
  }

  /** In the order of their coming; one whose kind has no room does not hold up the others. */
  #admit(): void {
    for (let i = 0; i < this.#waiting.length; ) {
      const slot = this.#waiting[i]!
      if (this.#hasRoomFor(slot.kind)) {
        this.#stopWaiting(slot)
        this.#start(slot)
      } else i++
    }
  }

  /** Requests that cannot be sent before a connection is free. */
  get #needed(): number {
    const { fetch, forward, upload } = this.#running
    return this.#waiting.length + Math.max(0, fetch + forward + upload - this.#connections)
  }

  #relieve(): void {
    let needed = this.#held.size === 0 ? 0 : this.#needed
    for (const slot of [...this.#held]) {
      if (needed-- <= 0) return
      const leftMs = slot.heldAt + heldGraceMs - this.#clock.elapsed()
      if (leftMs > 0) {
        this.#timer ??= this.#relieveLater(leftMs)
        return
      }
      slot.user.cut()
    }
  }

  #relieveLater(delayMs: number): Timer {
    return this.#clock.after(delayMs, () => {
      this.#timer = undefined
      this.#relieve()
    })
  }
}

/** Shares of all connections: for forwarded requests together, and for the uploads among them. */
const forwardShare = 3 / 4
const uploadShare = 1 / 4

const partOf = (connections: number, share: number): number => Math.max(1, Math.floor(connections * share))

/** The connection, or the place in the queue for one, of one request. */
export class Slot {
  readonly kind: SlotKind
  readonly user: SlotUser
  /** Kept by Slots. */
  isRunning = false
  isOver = false
  heldAt = 0
  waitsSince = 0
  deadline: Timer | undefined
  readonly #slots: Slots

  constructor(slots: Slots, kind: SlotKind, user: SlotUser) {
    this.#slots = slots
    this.kind = kind
    this.user = user
  }

  enter(): void {
    this.#slots.enter(this)
  }

  /** Called once, when the request is over. */
  leave(): void {
    this.isOver = true
    this.#slots.leave(this)
  }

  /** The client does not read the data that the database sends. */
  hold(): void {
    this.#slots.hold(this)
  }

  proceed(): void {
    this.#slots.proceed(this)
  }
}
