/**
 * Lists are requested between bounds that move with the clock: every minute a new request, for which nothing is stored.
 * While the database fails, the last answer to the same request between other bounds is served instead, marked stale.
 * Only this process knows which one that is.
 */
import type { WholePlan } from '../../backends/whole-answers.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'
import type { ObjectAnswer, ObjectKey } from './objects.ts'
import { markedAt } from './whole-marks.ts'
import { demandsOf, type WholeCacheOptions, type WholeTrip } from './whole-request.ts'

interface Answered {
  readonly key: Key
  readonly text: string
  readonly from: EpochMs
  readonly to: EpochMs
}

/** Never fresh: it is the answer to another question. */
export interface EarlierAnswer {
  readonly stale: ObjectAnswer
  /** Names the bounds of that answer. */
  readonly detail: string
}

/** The coarsest that Grafana rounds bounds to. */
const roundingMs = 3_600_000
/** Of one question: viewers look at windows of different lengths. */
const mostWindows = 8
const mostCharacters = 2 << 20
const overhead = 200

export class MovedBounds {
  readonly #options: WholeCacheOptions
  readonly #answered = new BoundedMap<string, readonly Answered[]>({
    maxWeight: mostCharacters,
    weightOf: (all, name) => all.reduce((sum, { text }) => sum + text.length + overhead, name.length),
  })

  constructor(options: WholeCacheOptions) {
    this.#options = options
  }

  /** An answer to it is stored. */
  note({ request: { plan, identity }, key }: WholeTrip): void {
    const { moving, text } = plan
    if (moving === undefined) return
    const name = nameOf(moving, identity)
    const { from, to } = moving
    const others = (this.#answered.get(name) ?? []).filter((each) => distance(each, moving) > roundingMs)
    this.#answered.set(name, [...others.slice(1 - mostWindows), { key, text, from, to }])
  }

  /** The stored answer whose bounds are the nearest, unless they differ by more than the time since then and rounding explain. */
  async find(trip: WholeTrip): Promise<EarlierAnswer | undefined> {
    const { plan, identity } = trip.request
    const { moving } = plan
    if (moving === undefined) return undefined
    const known = this.#answered.use(nameOf(moving, identity)) ?? []
    for (const each of known.toSorted((a, b) => distance(a, moving) - distance(b, moving))) {
      const stored = await this.#stored(trip, each)
      if (stored === undefined) continue
      const { generatedAt } = stored
      if (distance(each, moving) > this.#options.clock.now() - generatedAt + roundingMs) return undefined
      const detail = `the answer for ${each.from / 1000} to ${each.to / 1000}`
      return { stale: { ...stored, freshUntil: generatedAt }, detail }
    }
    return undefined
  }

  async #stored({ request }: WholeTrip, { key, text }: Answered): Promise<ObjectAnswer | undefined> {
    const { objects, marks, name } = this.#options
    const objectKey: ObjectKey = { tenant: name, key }
    const stored = await objects.peek(objectKey)
    const { usableFrom } = demandsOf(markedAt(marks, key, { ...request.plan, text }), request.demands)
    return stored !== undefined && stored.generatedAt >= usableFrom ? stored : undefined
  }
}

type Moving = NonNullable<WholePlan['moving']>

const nameOf = ({ text }: Moving, identity: string): string => `${identity} ${text}`

const distance = (one: Pick<Moving, 'from' | 'to'>, other: Pick<Moving, 'from' | 'to'>): number =>
  Math.max(Math.abs(one.from - other.from), Math.abs(one.to - other.to))
