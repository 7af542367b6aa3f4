/**
 * Flights: one fetch in progress each, joined by every request that it can serve (design §7).
 * A flight belongs to its members, not to the one that opened it: it is cancelled when the last one leaves.
 */
import type { EpochMs } from '../core/clock.ts'
import { contains, type Interval, intersect, isEmpty, lengthOf } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { BucketMark } from '../core/mark.ts'
import type { FetchResult } from './fetch.ts'

/** A flight this much wider than a gap is not joined: a 30-day fetch must not hold a one-step viewer. */
const maxWidthRatio = 4

export interface Flight {
  readonly interval: Interval
  /** Taken before the fetch was sent. */
  readonly startedAt: EpochMs
  /** Parameters of the one who opened it that are not part of the shape but can make it fail (a timeout). */
  readonly terms: string
  readonly result: Promise<FetchResult>
  /** Gives a membership back; the last one to leave cancels the fetch. */
  leave(): void
}

export interface Joined {
  readonly flight: Flight
  /** What of the gap the flight does not bring; one piece or nothing. */
  readonly rest: Interval | undefined
}

/** What a request demands of a flight. */
export interface Wish {
  /** It began at or after this. */
  readonly notBefore: EpochMs
  /** It began after each of those that are about its buckets: what it brings would be no news. */
  readonly marks: readonly BucketMark[]
}

export interface Departure {
  readonly key: Key
  readonly interval: Interval
  readonly startedAt: EpochMs
  readonly terms: string
}

interface OpenFlight extends Flight {
  members: number
}

export class Flights {
  readonly #byKey = new Map<Key, OpenFlight[]>()

  /** Joins the flight that brings most of a gap, unless none is as wished and worth it. */
  join(key: Key, gap: Interval, wish: Wish): Joined | undefined {
    let best: { flight: OpenFlight; rest: Interval | undefined } | undefined
    for (const flight of this.#byKey.get(key) ?? []) {
      if (!isWorthWaitingFor(flight, gap, wish)) continue
      const rest = restOf(gap, flight.interval)
      if (rest === 'not worth it') continue
      if (best === undefined || width(rest) < width(best.rest)) best = { flight, rest }
    }
    if (best !== undefined) best.flight.members++
    return best
  }

  /**
   * Joins a flight that brings all of what another one leaves over. Of many requests that joined that one, the first
   * fetches the rest, and the others get it from there: no request joins a third.
   */
  joinForRest(key: Key, rest: Interval, wish: Wish): Flight | undefined {
    const flights = this.#byKey.get(key) ?? []
    const found = flights.find(
      (flight) => isWorthWaitingFor(flight, rest, wish) && contains(flight.interval, rest),
    )
    if (found !== undefined) found.members++
    return found
  }

  /** Starts a fetch. `run` gets a function that says how to cancel it, to be called before it returns. */
  open(departure: Departure, run: (onCancel: (cancel: () => void) => void) => Promise<FetchResult>): Flight {
    let cancel = () => {}
    const result = run((how) => {
      cancel = how
    })
    const flight: OpenFlight = {
      ...departure,
      result,
      members: 1,
      leave: () => {
        if (--flight.members > 0) return
        // Out of the list first: nobody may join what is being given up.
        this.#remove(departure.key, flight)
        cancel()
      },
    }
    this.#add(departure.key, flight)
    const remove = () => this.#remove(departure.key, flight)
    result.then(remove, remove)
    return flight
  }

  get count(): number {
    let count = 0
    for (const flights of this.#byKey.values()) count += flights.length
    return count
  }

  #add(key: Key, flight: OpenFlight): void {
    const flights = this.#byKey.get(key)
    if (flights === undefined) this.#byKey.set(key, [flight])
    else flights.push(flight)
  }

  #remove(key: Key, flight: OpenFlight): void {
    const left = (this.#byKey.get(key) ?? []).filter((other) => other !== flight)
    if (left.length === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, left)
  }
}

type FlightTimes = Pick<Flight, 'interval' | 'startedAt'>

/** Whether a flight brings enough of a gap, soon enough and new enough. */
export const isWorthJoining = (flight: FlightTimes, gap: Interval, wish: Wish): boolean =>
  isWorthWaitingFor(flight, gap, wish) && restOf(gap, flight.interval) !== 'not worth it'

const isWorthWaitingFor = (flight: FlightTimes, gap: Interval, { notBefore, marks }: Wish): boolean =>
  flight.startedAt >= notBefore &&
  lengthOf(flight.interval) <= maxWidthRatio * lengthOf(gap) &&
  !marks.some((mark) => flight.startedAt <= mark.at && !isEmpty(intersect(mark, flight.interval)))

const width = (interval: Interval | undefined): number => (interval === undefined ? 0 : lengthOf(interval))

/**
 * A flight in the middle of a gap would leave two pieces: one query for both would ask for its part again. A flight
 * that brings only the shorter end of a gap is left alone too: buckets fetched together expire together, and a gap
 * that is fetched in two halves would stay two gaps from then on (measured: 15 queries a minute instead of 12).
 */
function restOf(gap: Interval, flight: Interval): Interval | undefined | 'not worth it' {
  const shared = intersect(gap, flight)
  if (isEmpty(shared)) return 'not worth it'
  if (shared.from > gap.from && shared.to < gap.to) return 'not worth it'
  if (shared.from > gap.from && 2 * lengthOf(shared) < lengthOf(gap)) return 'not worth it'
  if (shared.from > gap.from) return { from: gap.from, to: shared.from }
  return shared.to < gap.to ? { from: shared.to, to: gap.to } : undefined
}
