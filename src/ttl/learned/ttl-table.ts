/** TTLs over age, made of what was learned: constant on plateaus, going up or down as the data say. */
import { ageBorders, endOfClass } from './age-classes.ts'
import { invert } from './age-curve.ts'
import { periodOf, quantumMs } from './epochs.ts'
import type { LearnedTerms } from './learning.ts'

/** From each of `ages` up to the next one, the TTL at the same index. */
export interface TtlTable {
  readonly ages: Float64Array
  readonly ttls: Float64Array
}

export interface TableRules {
  readonly terms: LearnedTerms
  /** The budget at an age, where measurements tighten the one of the terms. */
  readonly budgetAt: (ageMs: number) => number
  /** Rounds TTLs down to periods: `lapseOf` would do so anyway, and there are fewer plateaus to judge. */
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

/** The open buckets' class is left out: they have the floor. */
const edges = Array.from(ageBorders.keys()).slice(1).flatMap(plateauAges)

/** `rates` are in changes per millisecond, one for each age class. */
export function tableOf(rates: Float64Array, { terms, budgetAt, onEpochs }: TableRules): TtlTable {
  const { floorMs, capMs } = terms
  const curve = { borders: ageBorders, rates }
  const exact = edges.map((age) => invert(curve, age, { budget: budgetAt(age), cap: capMs }))
  const ages = [Number.NEGATIVE_INFINITY]
  const ttls = [floorMs]
  for (let i = 0; i < edges.length; i++) {
    // What keeps the budget at both ends of a plateau keeps it in between.
    const shortest = Math.min(exact[i]!, exact[i + 1] ?? exact[i]!)
    const ttl = Math.max(floorMs, onEpochs ? periodOf(shortest, quantumMs) : shortest)
    if (ttl === ttls[ttls.length - 1]) continue
    ages.push(edges[i]!)
    ttls.push(ttl)
  }
  return { ages: Float64Array.from(ages), ttls: Float64Array.from(ttls) }
}

export const isSameTable = (a: TtlTable, b: TtlTable): boolean =>
  isSame(a.ages, b.ages) && isSame(a.ttls, b.ttls)

const isSame = (a: Float64Array, b: Float64Array): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index])
