/**
 * Observations of how often data change, at one level (a shape, a source, or a backend), in sums per age class. All
 * state between observations is sums, but for the alarm: the sums of two nodes add up to those of one that saw both.
 *
 * A refetch shows only whether a bucket changed since its last fetch. Expectation–maximisation shares each change out
 * over the classes that the bucket was in, by the rates in force; the fixed point is the maximum likelihood estimate.
 */
import { type Borders, classOf, splitGap } from './age-classes.ts'
import { gammaUpper } from './bounds.ts'
import type { Refetch } from './learning.ts'
import { alarmLevel, deviationOf, dispersionOf, nextAlarm } from './surprise.ts'

/** The observations of one answer of the database. */
export type Gaps = Pick<Refetch, 'oldAges' | 'newAges' | 'changed'>

/** Each sum has one entry per class; all of one kind lie together. */
const kinds = {
  /** Expected changes, and the time in which they were seen. */
  changes: 0,
  exposure: 1,
  /** The same since the last alarm, nearly. */
  recentChanges: 2,
  recentExposure: 3,
  /** Squared and expected squared deviations of refetches from their expectation (Pearson). */
  deviation: 4,
  expectedDeviation: 5,
  /** Buckets, and the refetches that they were part of. */
  buckets: 6,
  refetches: 7,
} as const
const kindCount = Object.keys(kinds).length

/** With fewer independent changes than this, a level uses its parent's rate where that is lower. */
export const enoughChanges = 3
/** The share of the recent sums that an alarm keeps. */
const keptByAlarm = 0.1
/** Longer gaps, in milliseconds, are rejected: a clock was wrong. */
const longestGap = 31 * 86_400_000

const maxClasses = 32

// Scratch for one refetch: the gap of a bucket, its time in each class, and the observations in each class.
const gap = { from: 0, to: 0 }
const stays = new Float64Array(maxClasses)
const groups = Array.from({ length: maxClasses }, () => ({
  buckets: 0,
  changed: 0,
  expected: 0,
  variance: 0,
}))
type Group = (typeof groups)[number]

export class Evidence {
  readonly #borders: Borders
  readonly #own: Float64Array
  /** Of other nodes. */
  #foreign: Float64Array | undefined
  /** How likely an alarm is, per class; never merged. */
  readonly #alarms: Float64Array
  /** By how much refetches vary more than independent changes would let them. */
  readonly #dispersion: Float64Array
  /** The rates that changes are shared out by. */
  readonly rates: Float64Array
  /** Whether the rate of a class comes from observations at this level. */
  readonly #isFitted: Uint8Array

  /** At most 32 classes. */
  constructor(borders: Borders, rates: Float64Array) {
    const classes = borders.length
    this.#borders = borders
    this.#own = new Float64Array(kindCount * classes)
    this.#alarms = new Float64Array(classes)
    this.#dispersion = new Float64Array(classes).fill(1)
    this.rates = Float64Array.from(rates)
    this.#isFitted = new Uint8Array(classes)
  }

  /** Takes in one answer. True if it raised an alarm: the rates should be fitted again. */
  observe({ oldAges, newAges, changed }: Gaps): boolean {
    const length = Math.min(oldAges.length, newAges.length, changed.length)
    for (let i = 0; i < length; i++) this.#bucket(oldAges[i]!, newAges[i]!, changed[i] === 1)
    let isAlarmed = false
    for (let at = 0; at < this.rates.length; at++) {
      if (groups[at]!.buckets > 0 && this.#refetch(at, groups[at]!)) isAlarmed = true
    }
    return isAlarmed
  }

  #bucket(from: number, to: number, hasChanged: boolean): void {
    if (!(to > from && to - from <= longestGap)) return
    gap.from = from
    gap.to = to
    const first = classOf(this.#borders, from)
    const count = splitGap(this.#borders, gap, stays)
    let expected = 0
    for (let i = 0; i < count; i++) {
      expected += this.rates[first + i]! * stays[i]!
      this.#add(kinds.exposure, first + i, stays[i]!)
      this.#add(kinds.recentExposure, first + i, stays[i]!)
    }
    const probability = -Math.expm1(-expected)
    if (hasChanged && probability > 0) {
      for (let i = 0; i < count; i++) {
        const share = (this.rates[first + i]! * stays[i]!) / probability
        this.#add(kinds.changes, first + i, share)
        this.#add(kinds.recentChanges, first + i, share)
      }
    }
    const group = groups[classOf(this.#borders, (from + to) / 2)]!
    group.buckets++
    group.changed += hasChanged ? 1 : 0
    group.expected += probability
    group.variance += probability * (1 - probability)
  }

  /** Neighbours that change together are one surprise, not many: they are judged once per refetch. */
  #refetch(at: number, group: Group): boolean {
    const { buckets, changed, expected, variance } = group
    group.buckets = group.changed = group.expected = group.variance = 0
    this.#add(kinds.buckets, at, buckets)
    this.#add(kinds.refetches, at, 1)
    // Rates that are only a parent's would make every refetch a surprise, and bounds wide for hours.
    if (this.#isFitted[at] === 0) return false
    const deviation = deviationOf({ changed, expected, variance })
    this.#add(kinds.deviation, at, deviation.seen)
    this.#add(kinds.expectedDeviation, at, deviation.expected)
    const alarm = nextAlarm(this.#alarms[at]!, { changed, expected, dispersion: this.#dispersion[at]! })
    this.#alarms[at] = alarm > alarmLevel ? 0 : alarm
    if (alarm <= alarmLevel) return false
    for (const sums of [this.#own, this.#foreign]) {
      if (sums === undefined) continue
      sums[this.#index(kinds.recentChanges, at)]! *= keptByAlarm
      sums[this.#index(kinds.recentExposure, at)]! *= keptByAlarm
    }
    return true
  }

  /** Decays the sums by the half-life of each class. */
  decay(elapsed: number, halfLives: Float64Array): void {
    decaySums(this.#own, elapsed, halfLives)
    if (this.#foreign !== undefined) decaySums(this.#foreign, elapsed, halfLives)
  }

  /** Sets the rates from the observations, or from the parent where there are almost none. */
  fit(parentRates: Float64Array): void {
    for (let at = 0; at < this.rates.length; at++) {
      const [changes, exposure] = [this.#sum(kinds.changes, at), this.#sum(kinds.exposure, at)]
      const [recent, recentExposure] = [
        this.#sum(kinds.recentChanges, at),
        this.#sum(kinds.recentExposure, at),
      ]
      this.#dispersion[at] = dispersionOf(
        { seen: this.#sum(kinds.deviation, at), expected: this.#sum(kinds.expectedDeviation, at) },
        this.#sum(kinds.buckets, at) / this.#sum(kinds.refetches, at),
      )
      this.#isFitted[at] = exposure > 0 ? 1 : 0
      const rate = changes >= 0.5 ? changes / exposure : Math.min(parentRates[at]!, 0.5 / exposure)
      this.rates[at] = recent >= 0.5 ? Math.max(rate, recent / recentExposure) : rate
    }
  }

  /** The upper bound of the rate of a class at a one-sided normal quantile, from whichever track has the higher one. */
  bound(at: number, z: number): RateBound {
    const dispersion = this.#dispersion[at]!
    const boundOf = (changes: number, exposure: number) => ({
      changes: changes / dispersion,
      upper: (dispersion * gammaUpper(changes / dispersion, z)) / exposure,
    })
    const all = boundOf(this.#sum(kinds.changes, at), this.#sum(kinds.exposure, at))
    const recent = boundOf(this.#sum(kinds.recentChanges, at), this.#sum(kinds.recentExposure, at))
    return recent.changes >= enoughChanges && recent.upper > all.upper ? recent : all
  }

  /** How many buckets were refetched at about this age. */
  observations(at: number): number {
    return this.#sum(kinds.buckets, at)
  }

  /** A copy of this node's own sums. */
  sums(): Float64Array {
    return this.#own.slice()
  }

  /** Adds sums to this node's own, or takes them out. */
  add(sums: Float64Array, sign: Sign = 1): void {
    addSums(this.#own, sums, sign)
  }

  /** Sums of other nodes, in place of those before. */
  setForeign(nodes: readonly Float64Array[]): void {
    this.#foreign = undefined
    for (const sums of nodes) {
      this.#foreign ??= new Float64Array(sums.length)
      addSums(this.#foreign, sums)
    }
  }

  #index(kind: number, at: number): number {
    return kind * this.#borders.length + at
  }

  #add(kind: number, at: number, amount: number): void {
    this.#own[this.#index(kind, at)]! += amount
  }

  #sum(kind: number, at: number): number {
    const index = this.#index(kind, at)
    return this.#own[index]! + (this.#foreign === undefined ? 0 : this.#foreign[index]!)
  }
}

export interface RateBound {
  /** Infinite where nothing was seen. */
  readonly upper: number
  /** How many independent changes it is based on. */
  readonly changes: number
}

/** 1 to add sums, -1 to take them out again. */
export type Sign = 1 | -1

/** No sum falls below 0. */
export function addSums(into: Float64Array, sums: Float64Array, sign: Sign = 1): void {
  for (let i = 0; i < into.length; i++) into[i] = Math.max(0, into[i]! + sign * sums[i]!)
}

/** All sums of a class lose half of themselves in its half-life. */
export function decaySums(sums: Float64Array, elapsed: number, halfLives: Float64Array): void {
  const classes = halfLives.length
  for (let at = 0; at < classes; at++) {
    const kept = 0.5 ** (elapsed / halfLives[at]!)
    for (let index = at; index < sums.length; index += classes) sums[index]! *= kept
  }
}

/** Whether these can be the sums of a level: rows of other nodes may be of another version, or damaged. */
export const areSums = (sums: Float64Array, borders: Borders): boolean =>
  sums.length === kindCount * borders.length && areFinite(sums)

export const areFinite = (sums: Float64Array): boolean =>
  sums.every((sum) => sum >= 0 && sum < Number.POSITIVE_INFINITY)
