/**
 * Claims between nodes that share a store: a leased row per key says who is fetching what (claim-rows.ts). A node that wants
 * what another one is fetching notes that it waits, and looks again once the flight has landed or its lease has run out. A
 * flight that somebody waits for is written through to the shared tier before it is released. Leases only spare queries:
 * buckets carry their own clocks, so that a holder which lost its lease can do no harm, and where the store has no cells, or
 * they fail, every node fetches for itself.
 */
import type { Clock } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { hullOf, type Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { newUuid } from '../core/uuid.ts'
import type { Cells } from '../stores/cells.ts'
import { type ClaimedFlight, type ClaimRow, ClaimRows } from './claim-rows.ts'
import type { Claim, Claims, Look, Verdict, Wanted } from './claims.ts'
import { isWorthAwaiting } from './flights.ts'

export interface CellClaimsOptions {
  /** Limited in time by their guard. */
  readonly cells: Cells
  readonly clock: Clock
  /** What a request waits for the outcome of its claim at most, besides the flight of another node. */
  readonly timeoutMs: number
  /** See `Store.share`. */
  readonly share: (key: Key, interval: Interval, isAwaited: boolean) => Promise<boolean>
}

/** What became of a claim; also the metric label. */
export const leaseResults = ['won', 'waited', 'expired', 'unavailable'] as const

export interface ClaimCounters extends Record<(typeof leaseResults)[number], number> {
  /** Claims that this node got. */
  won: number
  /** Waits that ended because the flight landed or was given up. */
  waited: number
  /** Waits that ended because the holder's lease ran out. */
  expired: number
  /** Queries sent without a claim, because the store failed, was late or too busy, or its breaker was open. */
  unavailable: number
}

export const noLeases: Readonly<ClaimCounters> = { won: 0, waited: 0, expired: 0, unavailable: 0 }

/** A holder that is not heard of for this long is replaced. */
export const leaseMs = 15_000
/** What is left of a lease always exceeds the 10 s by which the clocks of two nodes may differ. */
const renewalMs = 3000
const renewalRetryMs = 500
const firstPollMs = 10
const maxPollMs = 100
/** A flight that landed longer ago than this has been found by every lookup since. */
const newsMs = 5000
const maxAttempts = 4

export class CellClaims implements Claims {
  readonly counters: ClaimCounters = { ...noLeases }
  readonly #options: CellClaimsOptions
  readonly #rows: ClaimRows
  readonly #node: string

  constructor(options: CellClaimsOptions) {
    this.#options = options
    this.#rows = new ClaimRows(options)
    this.#node = newUuid(options.clock.random)
  }

  claim(wanted: Wanted): Claim {
    const { clock, share, cells } = this.#options
    if (cells.isAlone?.() === true) return { verdict: Promise.resolve('go'), release() {} }
    const lease = new Lease({ wanted, clock, share, rows: this.#rows, node: this.#node })
    return { verdict: this.#decide(lease), release: (isStored) => void lease.release(isStored) }
  }

  async #decide(lease: Lease): Promise<Verdict> {
    const { outcome, acceptFrom } = await this.#outcomeOf(lease).catch(() => unavailable)
    if (outcome !== 'news') this.counters[outcome]++
    return outcome === 'won' || outcome === 'unavailable' ? 'go' : { acceptFrom }
  }

  /** A claim that is won only after the query went out without it is held all the same, until its release. */
  async #outcomeOf(lease: Lease): Promise<Decided> {
    const { clock, timeoutMs } = this.#options
    const claimed = await inTime(lease.claim(), clock, timeoutMs)
    return 'awaited' in claimed ? lease.waitFor(claimed.awaited) : claimed
  }
}

interface Decided extends Look {
  /** `news`: what is wanted has been fetched since the lookup. */
  readonly outcome: keyof ClaimCounters | 'news'
}

const nothingAwaited = Number.POSITIVE_INFINITY
const unavailable: Decided = { outcome: 'unavailable', acceptFrom: nothingAwaited }

interface LeaseOptions extends Pick<CellClaimsOptions, 'clock' | 'share'> {
  readonly wanted: Wanted
  readonly rows: ClaimRows
  readonly node: string
}

class Lease {
  readonly #options: LeaseOptions
  readonly #token: string
  /** Other nodes have asked for this shape lately. */
  #isKnownElsewhere = false
  /** The row may say that this node fetches: also where the outcome of writing it is unknown. */
  #mayHold = false
  #isOver = false
  #timer = { cancel(): void {} }

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#token = newUuid(options.clock.random)
  }

  async claim(): Promise<Decided | { readonly awaited: ClaimedFlight }> {
    const { rows, wanted, node } = this.#options
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const row = await rows.read(wanted.key)
      const others = row.flights.filter((flight) => flight.node !== node)
      this.#isKnownElsewhere = others.length > 0
      const other = wanted.isImpatient ? undefined : others.find((flight) => this.#isWorthAwaiting(flight))
      if (other?.landed !== undefined) return { outcome: 'news', acceptFrom: nothingAwaited }
      if (other !== undefined) {
        if (await this.#note(row, other)) return { awaited: other }
      } else if (await this.#write(row)) {
        if (this.#isOver) await this.#end(false)
        else this.#renewLater()
        return { outcome: 'won', acceptFrom: nothingAwaited }
      }
    }
    return unavailable
  }

  async #write(row: ClaimRow): Promise<boolean> {
    this.#mayHold = true
    this.#mayHold = await this.#options.rows.write(row, [...row.flights, this.#flight()])
    return this.#mayHold
  }

  async release(isStored: boolean): Promise<void> {
    this.#isOver = true
    this.#timer.cancel()
    // A store that fails keeps the row: its lease runs out.
    if (this.#mayHold) await this.#end(isStored).catch(() => {})
  }

  #isWorthAwaiting(flight: ClaimedFlight): boolean {
    const { wanted, clock } = this.#options
    const { landed, startedAt } = flight
    const isNews =
      landed === undefined ||
      (landed.isShared && startedAt > wanted.newestSeen && clock.now() < landed.at + newsMs)
    return isNews && isWorthAwaiting(flight, wanted.intervals, wanted)
  }

  #flight(): ClaimedFlight {
    const { wanted, clock, node } = this.#options
    const { intervals, edges, startedAt } = wanted
    return { token: this.#token, node, intervals, edges, startedAt, leaseUntil: clock.now() + leaseMs }
  }

  /** Returns false where the row has changed. */
  async #note(row: ClaimRow, other: ClaimedFlight): Promise<boolean> {
    if (other.isAwaited) return true
    return this.#options.rows.write(row, replaced(row, { ...other, isAwaited: true }))
  }

  async waitFor({ token, startedAt, leaseUntil }: ClaimedFlight): Promise<Decided> {
    const { rows, wanted, clock } = this.#options
    let until = leaseUntil
    for (let delayMs = firstPollMs; ; delayMs = Math.min(maxPollMs, 2 * delayMs)) {
      await new Promise<void>((resolve) => void clock.after(delayMs, resolve))
      if (this.#isOver) return { outcome: 'waited', acceptFrom: startedAt }
      const row = await rows.read(wanted.key)
      const flight = row.flights.find((each) => each.token === token)
      if (flight?.landed !== undefined) return { outcome: 'waited', acceptFrom: startedAt }
      // A flight that is gone without a trace was given up, unless its lease has run out.
      if (flight === undefined)
        return { outcome: clock.now() < until ? 'waited' : 'expired', acceptFrom: startedAt }
      until = flight.leaseUntil
      // The note may have been lost, and the holder would not share what it brings.
      await this.#note(row, flight)
    }
  }

  #renewLater(delayMs = renewalMs): void {
    this.#timer = this.#options.clock.after(delayMs, async () => {
      const isRenewed = await this.#renew().catch(() => false)
      if (!this.#isOver) this.#renewLater(isRenewed ? renewalMs : renewalRetryMs)
    })
  }

  /** Returns false where the row has changed meanwhile. */
  async #renew(): Promise<boolean> {
    const { clock, wanted, rows } = this.#options
    const row = await rows.read(wanted.key)
    const own = this.#ownIn(row)
    if (own === undefined || this.#isOver) return true
    return rows.write(row, replaced(row, { ...own, leaseUntil: clock.now() + leaseMs }))
  }

  /** A node that notes itself while this is under way changes the row, and is seen at the next attempt. */
  async #end(isStored: boolean): Promise<void> {
    const { rows, wanted, clock, share } = this.#options
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const row = await rows.read(wanted.key)
      const own = this.#ownIn(row)
      if (own === undefined) return
      const isAwaited = own.isAwaited === true || this.#isKnownElsewhere
      const isShared = isStored && (await share(wanted.key, hullOf(wanted.intervals), isAwaited))
      const landed = { ...own, landed: { at: clock.now(), isShared } }
      const left = isStored ? replaced(row, landed) : row.flights.filter((flight) => flight !== own)
      if (await rows.write(row, left)) return
    }
  }

  #ownIn({ flights }: ClaimRow): ClaimedFlight | undefined {
    return flights.find(({ token }) => token === this.#token)
  }
}

const replaced = ({ flights }: ClaimRow, flight: ClaimedFlight): readonly ClaimedFlight[] =>
  flights.map((each) => (each.token === flight.token ? flight : each))
