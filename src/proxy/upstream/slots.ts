/**
 * Who may use the connections to a database. Forwarded requests get a part of them, uploads that are still arriving a smaller
 * part, so that slow clients cannot keep the cache from asking the database. A client that reads a forwarded answer more slowly than
 * the database sends it keeps its connection only as long as nobody waits for one.
 */
import type { Clock, Timer } from '../../core/clock.ts'

/** `fetch`: for the cache. `forward`: passed on, and complete. `upload`: passed on while it arrives. */
export type SlotKind = 'fetch' | 'forward' | 'upload'

export interface SlotUser {
  /** A connection may be used from now on. Called at most once. */
  start(): void
  /** The connection is needed for others. */
  cut(): void
}

/** A reader that takes nothing for this long, while others wait, loses its connection. */
const heldGraceMs = 2_000

export class Slots {
  readonly #clock: Clock
  readonly #waiting: Slot[] = []
  /** Those whose clients are slower than the database, the longest first. */
  readonly #held = new Set<Slot>()
  readonly #running: Record<SlotKind, number> = { fetch: 0, forward: 0, upload: 0 }
  #connections: number
  #timer: Timer | undefined

  constructor(clock: Clock, connections: number) {
    this.#clock = clock
    this.#connections = connections
  }

  configure(connections: number): void {
    this.#connections = connections
    this.#admit()
  }

  enter(slot: Slot): void {
    if (this.#hasRoomFor(slot.kind)) this.#start(slot)
    else this.#waiting.push(slot)
    this.#relieve()
  }

  leave(slot: Slot): void {
    this.#held.delete(slot)
    if (slot.isRunning) this.#running[slot.kind]--
    else this.#waiting.splice(this.#waiting.indexOf(slot), 1)
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
    if (kind === 'fetch') return true
    const { forward, upload } = this.#running
    if (forward + upload >= partOf(this.#connections, forwardShare)) return false
    return kind === 'forward' || upload < partOf(this.#connections, uploadShare)
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
        this.#waiting.splice(i, 1)
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

/** Of all connections: what is forwarded may use so many, and uploads so many of those. */
const forwardShare = 3 / 4
const uploadShare = 1 / 4

const partOf = (connections: number, share: number): number => Math.max(1, Math.floor(connections * share))

/** The connection, or the place in the queue for one, of one request. */
export class Slot {
  readonly kind: SlotKind
  readonly user: SlotUser
  /** Kept by Slots. */
  isRunning = false
  heldAt = 0
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
    this.#slots.leave(this)
  }

  /** The client does not take what the database sends. */
  hold(): void {
    this.#slots.hold(this)
  }

  proceed(): void {
    this.#slots.proceed(this)
  }
}
