/** An object as a reader sees it now: its position on its clocks, and the answer made from it. */
import type { Clock } from '../../core/clock.ts'
import type { VouchedSpan } from '../../core/witness.ts'
import { isCollected } from '../../stores/cell-rules.ts'
import { maxSkewMs } from '../../stores/skew.ts'
import type { Generations } from './generations.ts'
import type { StoredObject } from './near-objects.ts'
import { clocksOf, type ObjectClocks, type Position, positionOf, type TermsMs } from './object-clocks.ts'
import type { ObjectName } from './object-names.ts'
import { baseOf, type Version } from './object-rows.ts'
import type { ObjectAnswer, ObjectDemands } from './objects.ts'

export interface AskedObject {
  readonly name: ObjectName
  readonly terms: TermsMs
  readonly demands?: ObjectDemands | undefined
}

type Handed = Pick<ObjectAnswer, 'state' | 'failure' | 'replaced'>

export class ObjectView {
  readonly #clock: Clock
  readonly #generations: Generations

  constructor(clock: Clock, generations: Generations) {
    this.#clock = clock
    this.#generations = generations
  }

  positionOf({ name, terms, demands }: AskedObject, version: Version): Position {
    const now = this.#clock.now()
    const { freshFrom = never, usableFrom = never } = demands ?? {}
    if (isCollected(version, now) || version.generatedAt < usableFrom) return 'unusable'
    const position = positionOf(clocksFor(version, terms, demands?.vouched), now)
    // An object that is stale for another reason than its age is served only where regenerating fails.
    const isDoubted =
      version.generatedAt > now + maxSkewMs ||
      version.generatedAt < freshFrom ||
      this.#generations.invalidatedAt(name, version) !== undefined
    return isDoubted && position !== 'unusable' ? 'error' : position
  }

  answer(
    { name, terms, demands }: AskedObject,
    { version, body }: StoredObject,
    { state, failure, replaced }: Handed,
  ): ObjectAnswer {
    const { generatedAt, etag, status, headers } = version
    const invalidatedAt = this.#generations.invalidatedAt(name, version)
    const { freshUntil: untouched } = clocksFor(version, terms, demands?.vouched)
    const freshUntil =
      invalidatedAt === undefined ? untouched : Math.min(untouched, invalidatedAt, this.#clock.now())
    const answer = { body, state, generatedAt, etag, status, headers, freshUntil }
    if (replaced !== undefined) return { ...answer, replaced }
    return failure === undefined ? answer : { ...answer, failure }
  }
}

const never = Number.NEGATIVE_INFINITY

/** Terms that a response brought along count before everything else. Terms under which nothing is kept are not extended. */
function clocksFor(version: Version, asked: TermsMs, vouched: VouchedSpan | undefined): ObjectClocks {
  const base = baseOf(version)
  if (version.hasOwnTerms) return clocksOf(base, version.terms)
  const isVouchedFor = vouched !== undefined && version.generatedAt > vouched.since && asked.revalidate > 0
  return isVouchedFor
    ? clocksOf(base, asked, Math.min(vouched.until, version.generatedAt + vouched.maxAgeMs))
    : clocksOf(base, asked)
}
