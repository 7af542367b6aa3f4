/**
 * Ways in which the buckets of a database change after they were first read, for simulations that know the truth. Ages are
 * seconds from the end of a bucket, rates are changes per second. A bucket that is not over yet changes like one of age 0.
 */
import type { Random } from '../../src/testing/random.ts'

export interface ChangeModel {
  /** Changes of each bucket by itself, at an age of 0 or more. Must not increase with age: changes are drawn by thinning. */
  readonly own: (ageS: number) => number
  /** A factor on `own` that depends on time. */
  readonly pace?: Pace
  /** Changes of many buckets at once. */
  readonly rewrites?: Rewrites
  /** The mean rate of all changes: known to an oracle. */
  readonly mean: (ageS: number) => number
  /** Whether every bucket changes on its own, at a rate that depends on its age alone. */
  readonly isIndependent: boolean
  /** It repeats itself: seconds are counted from a random time of the day before the simulation. */
  readonly isPeriodic?: boolean
}

export interface Pace {
  /** Between 0 and `most`; `atS` are seconds since the model began. */
  readonly at: (atS: number, ageS: number) => number
  readonly most: number
}

/** At one instant, the buckets between two ages are rewritten, each with the same probability. */
export interface Rewrite {
  readonly atS: number
  readonly fromAgeS: number
  readonly toAgeS: number
  readonly share: number
}

export interface Rewrites {
  readonly everyS: number
  /** The rewrite of the period that begins at `beginS`. */
  readonly draw: (beginS: number, random: Random) => Rewrite
}

const minute = 60
const hour = 3600
const day = 24 * hour

const independent = (own: (ageS: number) => number): ChangeModel => ({
  ...{ own, mean: own, isIndependent: true },
})

const busyThen = (laterRate: number) => (ageS: number) => (ageS < 2 * minute ? 0.05 : laterRate)
/** The rate halves every minute: the assumption of the published ladder. */
const lateness = (ageS: number): number => 0.0414 * Math.exp(-ageS / 86.56)
const slowLateness = (ageS: number): number => Math.exp(-ageS / 900) / 60

/** Every six hours half of the last twelve is corrected. */
const batchRewrites: Rewrites = {
  everyS: 6 * hour,
  draw: (beginS) => ({ atS: beginS, fromAgeS: 0, toAgeS: 12 * hour, share: 0.5 }),
}

/** Once a day, one to six hours somewhere in the last day are computed again. */
const backfillRewrites: Rewrites = {
  everyS: day,
  draw(beginS, random) {
    const lengthS = (1 + 5 * random()) * hour
    const fromAgeS = random() * (day - lengthS)
    return { atS: beginS + random() * day, fromAgeS, toAgeS: fromAgeS + lengthS, share: 1 }
  },
}

/** The share of backfills that reach a bucket of this age: the mean over lengths of one to six hours. */
function backfilledShare(ageS: number): number {
  if (ageS < 0 || ageS >= day) return 0
  let sum = 0
  const lengths = 50
  for (let i = 0; i < lengths; i++) {
    const lengthS = (1 + (5 * (i + 0.5)) / lengths) * hour
    const places = day - lengthS
    sum += Math.max(0, Math.min(ageS, places) - Math.max(0, ageS - lengthS)) / places
  }
  return sum / lengths
}

const burstPeriod = 200 * minute
const burstLength = 20 * minute
const calm = 1 / 20
const burstPace: Pace = { at: (atS) => (atS % burstPeriod < burstLength ? 1 : calm), most: 1 }
const burstMean = (burstLength + calm * (burstPeriod - burstLength)) / burstPeriod
const inBursts = (ageS: number): number => 0.02 * Math.exp(-ageS / 900)

const twoDays = 1 / (2 * day)

/** All buckets above two minutes of age begin to change 20 times as often, or stop to, at an instant of the simulation. */
function paceStep(name: 'rise' | 'fall', atStepS: number): ChangeModel {
  const before = name === 'rise' ? 1 / 20 : 1
  const after = name === 'rise' ? 1 : 1 / 20
  return {
    ...{ own: busyThen(20 * twoDays), mean: busyThen(20 * twoDays * before), isIndependent: true },
    pace: { at: (atS, ageS) => (ageS < 2 * minute ? 1 : atS < atStepS ? before : after), most: 1 },
  }
}

/** When `rise` and `fall` change their rate: after the warm-up and some hours at the rate before. */
export const stepAtS = 36 * hour

export const changeModels = {
  never: independent(busyThen(0)),
  exp: independent(lateness),
  expslow: independent(slowLateness),
  pareto: independent((ageS) => 0.5 / Math.max(ageS, 30)),
  const: independent(busyThen(1 / day)),
  batch: {
    ...{ own: lateness, rewrites: batchRewrites, isIndependent: false, isPeriodic: true },
    mean: (ageS) => lateness(ageS) + (ageS < 12 * hour ? 0.5 / (6 * hour) : 0),
  },
  backfill: {
    ...{ own: lateness, rewrites: backfillRewrites, isIndependent: false, isPeriodic: true },
    mean: (ageS) => lateness(ageS) + backfilledShare(ageS) / day,
  },
  burst: {
    ...{ own: inBursts, pace: burstPace, isIndependent: false, isPeriodic: true },
    mean: (ageS) => inBursts(ageS) * burstMean,
  },
  rise: paceStep('rise', stepAtS),
  fall: paceStep('fall', stepAtS),
} satisfies Record<string, ChangeModel>

export type ChangeModelName = keyof typeof changeModels
