/** TTLs over age, from learned rates: constant on plateaus, rising or falling with the data. */
import { ladder } from '../ladder.ts'
import { ageBorders, endOfClass } from './age-classes.ts'
import { invert } from './age-curve.ts'
import { roundedTtl } from './epochs.ts'
import type { LearnedTerms } from './learning.ts'
import type { Belief } from './level.ts'

/** From each of `ages` up to the next one, the TTL at the same index. */
export interface TtlTable {
  readonly ages: Float64Array
  readonly ttls: Float64Array
  /** For each cell of ages a plateau that begins before it or with it: a search starts there, and needs a step or two. */
  readonly hints: Uint16Array
}

export interface TableRules {
  readonly terms: LearnedTerms
  /** The budget at an age, where measurements tighten the one of the terms. */
  readonly budgetAt: (ageMs: number) => number
  /** Rounds TTLs down, so that buckets lapse together: see epochs.ts. */
  readonly onEpochs: boolean
}

const plateausOfClass = 8

/** Where the plateaus of a class begin. The last class has one: from there on the rate, and so the TTL, is the same. */
export function plateauAges(at: number): readonly number[] {
  const from = ageBorders[at]!
  const width = (endOfClass(ageBorders, at) - from) / plateausOfClass
  if (width === Number.POSITIVE_INFINITY) return [from]
  return Array.from({ length: plateausOfClass }, (_, part) => from + part * width)
}

/** Where all plateaus begin, but for that of open buckets: they have the floor. */
const edges = Array.from(ageBorders.keys())
  .slice(1)
  .flatMap((at) => plateauAges(at).map((age) => ({ at, age })))

const published = ladder()

/**
 * The TTL that the budget allows at an age in the class `at`. Without observations it is at most that of the published
 * ladder. It may be less: a TTL may reach into classes that are known to change more often.
 */
export function ttlWithin(
  { terms, budgetAt }: TableRules,
  { at, age }: { at: number; age: number },
  known: Known,
): number {
  const curve = { borders: ageBorders, rates: known.uppers }
  const ttl = invert(curve, age, { budget: budgetAt(age), cap: terms.capMs })
  return known.origins[at] === 'prior' ? Math.min(ttl, published.ttl(age)) : ttl
}

type Known = Pick<Belief, 'uppers' | 'origins'>

export function tableOf(known: Known, rules: TableRules): TtlTable {
  const { floorMs } = rules.terms
  const exact = edges.map((edge) => ttlWithin(rules, edge, known))
  const ages = [Number.NEGATIVE_INFINITY]
  const ttls = [floorMs]
  for (let i = 0; i < edges.length; i++) {
    // A TTL that keeps the budget at both ends of a plateau keeps it in between.
    const shortest = Math.min(exact[i]!, exact[i + 1] ?? exact[i]!)
    const ttl = Math.max(floorMs, rules.onEpochs ? roundedTtl(shortest, floorMs) : shortest)
    if (ttl === ttls[ttls.length - 1]) continue
    ages.push(edges[i]!.age)
    ttls.push(ttl)
  }
  return { ages: Float64Array.from(ages), ttls: Float64Array.from(ttls), hints: hintsOf(ages) }
}

/** The index of the TTL at an age. */
export function plateauOf({ ages, hints }: TtlTable, ageMs: number): number {
  let at = hints[cellOf(ageMs)]!
  while (at + 1 < ages.length && ages[at + 1]! <= ageMs) at++
  return at
}

/** Eight cells for each doubling of the age in seconds. Needs no logarithm, and no search. */
function cellOf(ageMs: number): number {
  const second = Math.min(0x7fffffff, ageMs / 1000) | 0
  if (second < 8) return Math.max(0, second)
  const exponent = 31 - Math.clz32(second)
  return (exponent - 2) * 8 + ((second >>> (exponent - 3)) & 7)
}

const cellCount = cellOf(Number.POSITIVE_INFINITY) + 1

function hintsOf(ages: readonly number[]): Uint16Array {
  const hints = new Uint16Array(cellCount)
  for (let at = 1; at < ages.length; at++) hints[Math.min(cellCount - 1, cellOf(ages[at]!) + 1)] = at
  for (let cell = 1; cell < cellCount; cell++) hints[cell] = Math.max(hints[cell]!, hints[cell - 1]!)
  return hints
}

export const isSameTable = (a: TtlTable, b: TtlTable): boolean =>
  isSame(a.ages, b.ages) && isSame(a.ttls, b.ttls)

const isSame = (a: Float64Array, b: Float64Array): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index])
