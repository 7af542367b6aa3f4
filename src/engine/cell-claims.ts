/**
 * Claims between nodes that share a store: a leased row per key lists the fetches in progress (claim-rows.ts). A node
 * that wants buckets of another node's flight notes that it waits, and reads the store again once the flight has landed
 * or its lease has expired. A flight with waiters is written through to the shared tier before it is released. Leases
 * only save queries: buckets carry their own clocks, so that a holder which lost its lease can do no harm, and where
 * the store has no cells, or they fail, every node fetches for itself.
 */
import { type Clock, type EpochMs, pause } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { hullOf, type Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { newUuid } from '../core/uuid.ts'
import type { Cells } from '../stores/cells.ts'
import { durationIn, pollDelay } from './claim-polls.ts'
import { type ClaimedFlight, type ClaimRow, ClaimRows, newsMs, type WriteOutcome } from './claim-rows.ts'
import type { Claim, Claims, FlightEnd, Verdict, Wanted } from './claims.ts'
import type { Look } from './fetch.ts'
import { isWorthAwaiting } from './flights.ts'

export interface CellClaimsOptions {
  /** Limited in time by their guard. */
  readonly cells: Cells
  readonly clock: Clock
  /** The longest that a request waits for the outcome of its claim, besides the flight of another node. */
  readonly timeoutMs: number
  /** The lease of a holder expires after this time without renewal; 15 s by default. */
  readonly leaseMs?: number | undefined
  /** See `Store.share`. */
  readonly share: (key: Key, interval: Interval, isAwaited: boolean) => Promise<boolean>
}

/** The result of a claim; also the metric label. */
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

/** Clocks of two nodes may differ by 10 s. A lease that is renewed in time never has less than that left. */
export const usualLeaseMs = 15_000
const renewalsPerLease = 5
const retriesPerLease = 30
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
    const { clock, share, cells, leaseMs = usualLeaseMs } = this.#options
    if (cells.isAlone?.() === true) return { verdict: Promise.resolve('go'), release() {} }
    const lease = new Lease({ wanted, clock, share, leaseMs, rows: this.#rows, node: this.#node })
    return {
      verdict: this.#decide(lease),
      release: (end) => void lease.release(end).catch(() => {}),
    }
  }

  /** A claim that is won only after the query went out without it is held all the same, until its release. */
  async #decide(lease: Lease): Promise<Verdict> {
    const { clock, timeoutMs } = this.#options
    const { outcome, ...look } = await inTime(lease.claim(), clock, timeoutMs)
      .then((claimed) => ('awaited' in claimed ? lease.waitFor(claimed) : claimed))
      .catch(() => unavailable)
    if (outcome !== 'news' && outcome !== 'released') this.counters[outcome]++
    return outcome === 'won' || outcome === 'unavailable' ? 'go' : look
  }
}

interface Decided extends Look {
  /** Not counted: `news`, the wanted buckets have been fetched since the lookup; `released`, before it was written. */
  readonly outcome: keyof ClaimCounters | 'news' | 'released'
}

interface Awaited {
  readonly awaited: ClaimedFlight
  /** How long it is expected to take; see `durationIn`. */
  readonly expectedMs: number
}

const unavailable: Decided = { outcome: 'unavailable' }

interface LeaseOptions extends Pick<CellClaimsOptions, 'clock' | 'share'> {
  readonly wanted: Wanted
  readonly rows: ClaimRows
  readonly node: string
  readonly leaseMs: number
}

class Lease {
  readonly #options: LeaseOptions
  readonly #token: string
  /** The row as this node last saw it. It is written without being read again: a write fails where it has changed. */
  #row: ClaimRow | undefined
  /** Also where the claim failed: it may have been written, and others would wait for it until its lease has run out. */
  #mayBeInRow = false
  #isOver = false
  /** When the query ended: its row may be written much later where the store is slow. */
  #endedAt: EpochMs = 0
  #timer = { cancel(): void {} }

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#token = newUuid(options.clock.random)
  }

  async claim(): Promise<Decided | Awaited> {
    const { rows, wanted, node } = this.#options
    let row = await rows.read(wanted.key)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (this.#isOver) return { outcome: 'released' }
      const others = row.flights.filter((flight) => flight.node !== node)
      const other = wanted.isImpatient ? undefined : others.find((flight) => this.#isWorthAwaiting(flight))
      if (other?.landed !== undefined) return { outcome: 'news' }
      if (other?.isAwaited) return { awaited: other, expectedMs: durationIn(row) }
      const written = other ? await this.#note(row, other) : await this.#tryToWin(row, others.length > 0)
      if (written.isWritten && other !== undefined) return { awaited: other, expectedMs: durationIn(row) }
      if (written.isWritten) return { outcome: 'won' }
      row = written.row
    }
    return unavailable
  }

  async #tryToWin(row: ClaimRow, isAwaited: boolean): Promise<WriteOutcome> {
    this.#mayBeInRow = true
    try {
      const written = await this.#options.rows.write(row, [...row.flights, this.#flight(isAwaited)])
      this.#mayBeInRow = written.isWritten
      this.#row = written.isWritten ? written.row : undefined
      return written
    } finally {
      if (this.#mayBeInRow && this.#isOver) void this.#end('abandoned')
      else if (this.#mayBeInRow && this.#row !== undefined) this.#renewLater()
    }
  }

  async release(end: FlightEnd): Promise<void> {
    this.#isOver = true
    this.#endedAt = this.#options.clock.now()
    this.#timer.cancel()
    // A row that cannot be written stays until its lease runs out.
    if (this.#mayBeInRow) await this.#end(end)
  }

  #isWorthAwaiting(flight: ClaimedFlight): boolean {
    const { wanted, clock } = this.#options
    const { landed, startedAt } = flight
    const isNews =
      landed === undefined ||
      (landed.isShared && startedAt > wanted.newestSeen && clock.now() < landed.at + newsMs)
    return isNews && isWorthAwaiting(flight, wanted.intervals, wanted)
  }

  /**
   * Where other nodes use the shape, it is awaited from the start: no waiter has to write that down during the flight.
   */
  #flight(isAwaited: boolean): ClaimedFlight {
    const { wanted, clock, node, leaseMs } = this.#options
    const { intervals, edges, startedAt } = wanted
    const leaseUntil = clock.now() + leaseMs
    return { token: this.#token, node, intervals, edges, startedAt, leaseUntil, isAwaited }
  }

  #note(row: ClaimRow, other: ClaimedFlight): Promise<WriteOutcome> {
    return this.#options.rows.write(row, replaced(row, { ...other, isAwaited: true }))
  }

  async waitFor({ awaited: { token, startedAt, leaseUntil }, expectedMs }: Awaited): Promise<Decided> {
    const { rows, wanted, clock } = this.#options
    const began = clock.now()
    for (let until = leaseUntil; ; ) {
      const now = clock.now()
      const times = { waitedMs: now - began, flownMs: now - startedAt, expectedMs, leaseMs: until - now }
      await pause(clock, pollDelay(times))
      if (this.#isOver) return { outcome: 'waited', acceptFrom: startedAt }
      const row = await rows.read(wanted.key)
      const flight = row.flights.find((each) => each.token === token)
      // A query that had ended before this node's claim was not awaited: its TTL counts.
      if (flight?.landed !== undefined) {
        const { at, isShared } = flight.landed
        return { outcome: 'waited', acceptFrom: at >= began ? startedAt : undefined, isInVain: !isShared }
      }
      // A flight that is not in the row any more was given up, unless its lease has run out.
      if (flight === undefined) return { outcome: clock.now() < until ? 'waited' : 'expired' }
      until = flight.leaseUntil
      // The note may have been lost, and the holder would not share its result.
      if (!flight.isAwaited) void this.#note(row, flight).catch(() => {})
    }
  }

  #renewLater(perLease = renewalsPerLease): void {
    const { clock, leaseMs } = this.#options
    this.#timer = clock.after(leaseMs / perLease, async () => {
      const isRenewed = await this.#renew().catch(() => false)
      if (!this.#isOver) this.#renewLater(isRenewed ? renewalsPerLease : retriesPerLease)
    })
  }

  /** Returns false where the row has changed meanwhile. */
  async #renew(): Promise<boolean> {
    const { clock, wanted, rows, leaseMs } = this.#options
    const row = await rows.read(wanted.key)
    const own = this.#ownIn(row)
    if (own === undefined || this.#isOver) return true
    const written = await rows.write(row, replaced(row, { ...own, leaseUntil: clock.now() + leaseMs }))
    this.#row = written.row
    return written.isWritten
  }

  /**
   * Records that the flight is over. A node that begins to wait meanwhile changes the row, and is seen at the next
   * attempt. A write that failed may have been done. It is retried, because others wait until the row is updated. Only
   * failures count, and conflicts without a change: however many flights of a key land at once, each change of the row
   * is the landing of one of them.
   */
  async #end(end: FlightEnd): Promise<void> {
    const { rows, wanted } = this.#options
    let row: ClaimRow | 'ended' | undefined = this.#row
    for (let failures = 0; failures < maxAttempts; ) {
      const before: ClaimRow | undefined = row ?? (await rows.read(wanted.key).catch(() => undefined))
      row = before && (await this.#endIn(before, end).catch(() => undefined))
      if (row === 'ended') return
      if (row === undefined || row.rev === before?.rev) failures++
    }
  }

  /** Returns the row as it is now where others have changed it. */
  async #endIn(row: ClaimRow, end: FlightEnd): Promise<ClaimRow | 'ended'> {
    const own = this.#ownIn(row)
    if (own === undefined || own.landed !== undefined) return 'ended'
    const written = await this.#options.rows.write(row, await this.#flightsAfter(row, own, end))
    return written.isWritten ? 'ended' : written.row
  }

  async #flightsAfter(row: ClaimRow, own: ClaimedFlight, end: FlightEnd): Promise<readonly ClaimedFlight[]> {
    const { wanted, share } = this.#options
    const isAwaited = own.isAwaited === true
    if (end === 'abandoned' || (end === 'unstored' && !isAwaited))
      return row.flights.filter((flight) => flight !== own)
    const isShared = end === 'stored' && (await share(wanted.key, hullOf(wanted.intervals), isAwaited))
    return replaced(row, { ...own, landed: { at: this.#endedAt, isShared } })
  }

  #ownIn({ flights }: ClaimRow): ClaimedFlight | undefined {
    return flights.find(({ token }) => token === this.#token)
  }
}

const replaced = ({ flights }: ClaimRow, flight: ClaimedFlight): readonly ClaimedFlight[] =>
  flights.map((each) => (each.token === flight.token ? flight : each))
