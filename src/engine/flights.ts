/**
 * Flights: one fetch in progress each, joined by every request that it can serve (design §7). A flight belongs to its
 * members, not to the one that opened it: it is cancelled when the last member disconnects.
 */
import type { Edges } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { countOf, type Intervals, intersectAll, subtractAll, uniteAll } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { BucketMark } from '../core/mark.ts'
import type { FetchResult } from './fetch.ts'
import type { Intake } from './intake.ts'

/** A flight this much wider than a gap is not joined: a 30-day fetch must not hold a one-step viewer. */
const maxWidthRatio = 4

export interface FlightSpec {
  readonly key: Key
  readonly intervals: Intervals
  /** Those of its buckets that it brings only in part. */
  readonly edges?: Edges | undefined
  /** Taken before the fetch was sent. */
  readonly startedAt: EpochMs
  /** Parameters of the one who opened it that are not part of the shape but can make it fail (a timeout). */
  readonly terms: string
  /** Of the one who opened it. */
  readonly queryId?: string | undefined
}

export interface Flight extends FlightSpec {
  readonly result: Promise<FetchResult>
  /** Gives a membership back; the last one to leave cancels the fetch. */
  leave(): void
}

/** A flight, and the part of it that a request uses. */
export interface JoinedFlight {
  readonly flight: Flight
  readonly brings: Intervals
}

interface Joined extends JoinedFlight {
  /** The gaps that the flight does not bring. */
  readonly rest: Intervals
}

/** A request's demands of a flight. */
export interface Requirements {
  /** It began at or after this. */
  readonly notBefore: EpochMs
  /** It began after each of the marks on its buckets: otherwise its result would be outdated. */
  readonly marks: readonly BucketMark[]
  /** The buckets of which it wants only a part. */
  readonly edges: Edges | undefined
  /** How many buckets a query of its own would bring along with the gaps. */
  readonly along: number
  /** Whether the rest may be several intervals. */
  readonly takesSeveral: boolean
}

interface OpenFlight extends Flight {
  members: number
}

export class Flights {
  readonly #byKey = new Map<Key, OpenFlight[]>()

  /** Joins the flight that brings most of the gaps, unless none is as wished and worth it. */
  join(key: Key, gaps: Intervals, requirements: Requirements): Joined | undefined {
    let best: (Joined & { readonly flight: OpenFlight }) | undefined
    for (const flight of this.#byKey.get(key) ?? []) {
      const shares = sharesOf(flight, gaps, requirements)
      if (shares === undefined) continue
      if (best === undefined || countOf(shares.rest) < countOf(best.rest)) best = { flight, ...shares }
    }
    if (best !== undefined) best.flight.members++
    return best
  }

  /**
   * Joins a flight that brings all of the rest of another one. Of many requests that joined that one, the first fetches
   * the rest, and the others get it from there: no request joins a third.
   */
  joinForRest(key: Key, rest: Intervals, requirements: Requirements): Flight | undefined {
    const flights = this.#byKey.get(key) ?? []
    const found = flights.find((flight) => sharesOf(flight, rest, requirements)?.rest.length === 0)
    if (found !== undefined) found.members++
    return found
  }

  /** Registers a fetch that has begun. */
  open(spec: FlightSpec, fetch: Pick<Intake, 'result' | 'cancel'>): Flight {
    const flight: OpenFlight = {
      ...spec,
      result: fetch.result,
      members: 1,
      leave: () => {
        if (--flight.members > 0) return
        // Removed from the list first: no request may join a flight that is being cancelled.
        this.#remove(flight)
        fetch.cancel()
      },
    }
    this.#add(flight)
    const remove = () => this.#remove(flight)
    fetch.result.then(remove, remove)
    return flight
  }

  /** Whether a fetch goes by this id of a client's query. */
  has(queryId: string): boolean {
    return [...this.#byKey.values()].some((flights) => flights.some((flight) => flight.queryId === queryId))
  }

  get count(): number {
    let count = 0
    for (const flights of this.#byKey.values()) count += flights.length
    return count
  }

  #add(flight: OpenFlight): void {
    const flights = this.#byKey.get(flight.key)
    if (flights === undefined) this.#byKey.set(flight.key, [flight])
    else flights.push(flight)
  }

  #remove(flight: OpenFlight): void {
    const { key } = flight
    const left = (this.#byKey.get(key) ?? []).filter((other) => other !== flight)
    if (left.length === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, left)
  }
}

type Offer = Pick<Flight, 'intervals' | 'edges' | 'startedAt'>
type Shares = Pick<Joined, 'brings' | 'rest'>

/**
 * Whether to look again once a flight of another thread has landed: where it brings enough of the gaps, soon enough and new
 * enough. Parts of buckets are not found then, since they are stored nowhere.
 */
export function isWorthAwaiting(flight: Offer, gaps: Intervals, requirements: Requirements): boolean {
  const offer = { startedAt: flight.startedAt, intervals: wholeIn(flight.intervals, flight.edges) }
  return (
    sharesOf(offer, wholeIn(gaps, requirements.edges), { ...requirements, edges: undefined }) !== undefined
  )
}

/** Without the buckets of which only a part is meant. */
export const wholeIn = (intervals: Intervals, edges: Edges | undefined): Intervals =>
  edges === undefined ? intervals : subtractAll(intervals, edges.buckets)

/** The part of the gaps that a flight brings, where it is enough, soon enough and new enough. */
function sharesOf(flight: Offer, gaps: Intervals, requirements: Requirements): Shares | undefined {
  if (!isWorthWaitingFor(flight, gaps, requirements)) return undefined
  const brings = sharedBy(flight, gaps, requirements.edges)
  const shares = { brings, rest: subtractAll(gaps, brings) }
  return brings.length > 0 && (requirements.takesSeveral || isWorthSplitting(gaps, shares))
    ? shares
    : undefined
}

const isWorthWaitingFor = (
  flight: Offer,
  gaps: Intervals,
  { notBefore, marks, along }: Requirements,
): boolean =>
  flight.startedAt >= notBefore &&
  countOf(flight.intervals) <= maxWidthRatio * (countOf(gaps) + along) &&
  !marks.some((mark) => flight.startedAt <= mark.at && intersectAll([mark], flight.intervals).length > 0)

/** A part of a bucket is usable only by requests for the same part of it. */
function sharedBy(flight: Offer, gaps: Intervals, edges: Edges | undefined): Intervals {
  const whole = intersectAll(wholeIn(flight.intervals, flight.edges), wholeIn(gaps, edges))
  if (edges === undefined || flight.edges?.parts !== edges.parts) return whole
  const parts = intersectAll(flight.edges.buckets, edges.buckets)
  return uniteAll(whole, intersectAll(parts, intersectAll(flight.intervals, gaps)))
}

/**
 * Where a query has one interval: a flight in the middle of a gap would leave two pieces, and one query for both would
 * fetch its part again. A flight that brings only the shorter end of a gap is not joined either: buckets fetched
 * together expire together, and a gap that is fetched in two halves would stay two gaps from then on (measured: 15
 * queries a minute instead of 12).
 */
function isWorthSplitting(gaps: Intervals, { brings, rest }: Shares): boolean {
  if (rest.length > 1) return false
  const isBehind = brings[0]!.from > gaps[0]!.from
  return !isBehind || 2 * countOf(brings) >= countOf(gaps)
}
