/** Policies made of what was learned: a table of TTLs, constant on plateaus of age, which goes up or down as the data say. */
import { WindowpaneError } from '../../core/errors.ts'
import { ladder, publishedLadder } from '../ladder.ts'
import type { TtlPolicy } from '../policy.ts'
import { endOfClass } from './age-classes.ts'
import { type AgeCurve, invert } from './age-curve.ts'
import { lapseAt, periodOf, quantumMs } from './epochs.ts'
import type { LearnedTerms } from './learning.ts'

export interface LearnedOptions {
  /** Of the buckets that viewers are shown, this share may be out of date: 0.01 is one in a hundred. */
  readonly staleness: number
  /** 5 s unless told. */
  readonly floorMs?: number
  /** 24 h unless told. */
  readonly capMs?: number
  /** 11 min unless told, which is where the published ladder reaches its cap. */
  readonly settledAgeMs?: number
}

const published = ladder()

/**
 * A policy that learns how fast the data change, and gives each bucket the longest TTL that keeps the staleness within
 * its budget. As long as nothing is known, and wherever nothing learns, it is the published ladder between its floor and cap.
 */
export function learned(options: LearnedOptions): TtlPolicy {
  const { staleness: budget, floorMs = publishedLadder.floorMs, capMs = 24 * 3_600_000 } = options
  const { settledAgeMs = published.settledAgeMs } = options
  if (!(budget > 0 && budget < 1)) {
    throw new WindowpaneError('WINDOWPANE_BAD_OPTION', 'a learned policy needs a staleness between 0 and 1', {
      remedy: 'Give the share of buckets that may be out of date, like 0.01 for one in a hundred.',
    })
  }
  if (!(floorMs > 0 && capMs >= floorMs && capMs < Number.POSITIVE_INFINITY && settledAgeMs >= 0)) {
    throw new WindowpaneError(
      'WINDOWPANE_BAD_OPTION',
      'a learned policy needs 0 < floor ≤ cap < ∞ and a settled age that is not negative',
      { remedy: 'Give a floor above 0, and a cap that is not below the floor.' },
    )
  }
  const longest = Math.max(floorMs, Math.min(capMs, published.capMs))
  return {
    name: 'learned',
    isMonotone: true,
    capMs,
    settledAgeMs,
    ttl: (ageMs) => Math.min(longest, Math.max(floorMs, published.ttl(ageMs))),
    learns: { budget, floorMs, capMs, settledAgeMs },
  }
}

/** TTLs over age: from each of `ages` up to the next one, the TTL at the same index. */
export interface TtlTable {
  readonly ages: Float64Array
  readonly ttls: Float64Array
}

export interface TableRules {
  readonly terms: LearnedTerms
  /** The budget at an age, where measurements tighten the one of the terms. */
  readonly budgetAt: (ageMs: number) => number
  /** Whether TTLs are rounded down to periods: fewer plateaus, and `lapseOf` does not shorten them any further than that. */
  readonly onEpochs: boolean
}

/** Plateaus within an age class. */
const partsOfClass = 8

/** The curve must be in milliseconds, and its first class be that of buckets which are not over yet. */
export function tableOf(curve: AgeCurve, { terms, budgetAt, onEpochs }: TableRules): TtlTable {
  const { borders } = curve
  const ttlAt = (age: number) => {
    const ttl = invert(curve, age, { budget: budgetAt(age), cap: terms.capMs })
    const clamped = Math.min(terms.capMs, Math.max(terms.floorMs, ttl))
    return onEpochs ? Math.max(terms.floorMs, periodOf(clamped, quantumMs)) : clamped
  }
  const ages = [Number.NEGATIVE_INFINITY]
  const ttls = [terms.floorMs]
  const append = (age: number, ttl: number) => {
    if (ttls[ttls.length - 1] === ttl) return
    ages.push(age)
    ttls.push(ttl)
  }
  const last = borders.length - 1
  let begin = ttlAt(borders[1]!)
  for (let at = 1; at < last; at++) {
    const from = borders[at]!
    const width = (endOfClass(borders, at) - from) / partsOfClass
    for (let part = 0; part < partsOfClass; part++) {
      const end = ttlAt(from + (part + 1) * width)
      append(from + part * width, Math.min(begin, end))
      begin = end
    }
  }
  append(borders[last]!, begin)
  return { ages: Float64Array.from(ages), ttls: Float64Array.from(ttls) }
}

/** `phaseMs` where buckets lapse on epochs. */
export function tablePolicy({ ages, ttls }: TtlTable, terms: LearnedTerms, phaseMs?: number): TtlPolicy {
  const hints = hintsOf(ages)
  const plateauOf = (ageMs: number): number => {
    let at = hints[cellOf(ageMs)]!
    while (at + 1 < ages.length && ages[at + 1]! <= ageMs) at++
    return at
  }
  const epochs = phaseMs === undefined ? undefined : { quantumMs, phaseMs }
  return {
    name: 'learned',
    isMonotone: false,
    capMs: terms.capMs,
    settledAgeMs: terms.settledAgeMs,
    ttl: (ageMs) => ttls[plateauOf(ageMs)]!,
    plateaus: {
      endOf: (ageMs) => {
        const next = plateauOf(ageMs) + 1
        return next < ages.length ? ages[next]! : Number.POSITIVE_INFINITY
      },
      // No bucket gets less than the floor because of its epoch's end if the floor is all it has.
      lapseOf: (fetchedAt, ttlMs) =>
        epochs === undefined || ttlMs <= terms.floorMs
          ? fetchedAt + ttlMs
          : lapseAt(fetchedAt, ttlMs, epochs),
    },
    learns: terms,
  }
}

/** Eight cells for each doubling of the age: an index that costs no logarithm. The first holds all ages below a second. */
function cellOf(ageMs: number): number {
  const second = Math.min(0x7fffffff, ageMs / 1000) | 0
  if (second < 8) return Math.max(0, second)
  const exponent = 31 - Math.clz32(second)
  return (exponent - 2) * 8 + ((second >>> (exponent - 3)) & 7)
}

const cellCount = cellOf(Number.POSITIVE_INFINITY) + 1

/** For each cell a plateau that begins before it, or with it: a search starts there, and goes on for a step or two. */
function hintsOf(ages: Float64Array): Uint16Array {
  const hints = new Uint16Array(cellCount)
  for (let at = 1; at < ages.length; at++) hints[Math.min(cellCount - 1, cellOf(ages[at]!) + 1)] = at
  for (let cell = 1; cell < cellCount; cell++) hints[cell] = Math.max(hints[cell]!, hints[cell - 1]!)
  return hints
}
