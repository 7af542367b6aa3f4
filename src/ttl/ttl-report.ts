/** The TTLs of a backend at each age and their evidence, in the units of people and programs: seconds, and `null` for no bound. */
import type {
  ClassReport,
  LearnedShape,
  Learning,
  MeasuredStaleness,
  RateSource,
} from './learned/learning.ts'
import type { TtlPolicy } from './policy.ts'
import { computeTtl } from './staleness-budget.ts'

export interface TtlReport {
  /** The share of buckets shown that may be out of date; null where the policy has no budget. */
  readonly budget: number | null
  readonly classes: readonly TtlClass[]
}

export interface TtlClass {
  /** Ages from the end of the bucket; null for buckets that are not over yet, and for no end. */
  readonly ageFromS: number | null
  readonly ageToS: number | null
  /** Changes per second; null where nothing is known, as under a policy that does not learn. */
  readonly rate: number | null
  readonly rateUpper95: number | null
  readonly observations: number
  readonly ttlS: number
  readonly source: RateSource | 'configured'
  readonly boundBy: 'floor' | 'cap' | null
  readonly staleness: MeasuredStaleness
}

/** The curve of a shape, or of the backend as a whole. */
export function ttlReport(
  policy: TtlPolicy,
  learning: Pick<Learning, 'report'> | undefined,
  shape?: LearnedShape,
): TtlReport {
  const { learns } = policy
  if (learns === undefined || learning === undefined) {
    return { budget: (learns ?? policy.assumes)?.budget ?? null, classes: configuredClasses(policy) }
  }
  return { budget: learns.budget, classes: learning.report(learns, shape).map(viewOf) }
}

const viewOf = (each: ClassReport): TtlClass => ({
  ageFromS: finite(each.fromMs / 1000),
  ageToS: finite(each.toMs / 1000),
  rate: finite(each.rate * 1000),
  rateUpper95: finite(each.rateUpper95 * 1000),
  observations: Math.round(each.observations * 1000) / 1000,
  ttlS: each.ttlMs / 1000,
  source: each.source,
  boundBy: each.boundBy ?? null,
  staleness: each.staleness,
})

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

const unmeasured: MeasuredStaleness = { estimate: 0, low: 0, high: 1, samples: 0, error: 0 }

/** The TTLs that a configured policy gives, without repeating equal ones. A schedule that rises steadily is shown in steps. */
function configuredClasses(policy: TtlPolicy): TtlClass[] {
  const borders = agesMs.filter((age, i) => i === 0 || policy.ttl(age) !== policy.ttl(agesMs[i - 1]!))
  return borders.map((fromMs, i) => ({
    ageFromS: finite(fromMs / 1000),
    ageToS: finite((borders[i + 1] ?? Number.POSITIVE_INFINITY) / 1000),
    rate: policy.assumes === undefined ? null : policy.assumes.rate * 1000,
    rateUpper95: null,
    observations: 0,
    ttlS: policy.ttl(fromMs) / 1000,
    source: 'configured',
    boundBy: boundBy(policy, fromMs),
    staleness: unmeasured,
  }))
}

/** TTLs are whole milliseconds. Buckets that are not over yet have the floor, which binds only where it is too long. */
function boundBy({ ttl, assumes }: TtlPolicy, ageMs: number): TtlClass['boundBy'] {
  if (assumes === undefined) return null
  const askedMs = computeTtl(assumes.rate, assumes.budget)
  if (ttl(ageMs) > askedMs + 1) return 'floor'
  return ttl(ageMs) < askedMs - 1 && ageMs >= 0 ? 'cap' : null
}

/** Every half minute up to a quarter of an hour, then in steps of a sixth, up to a week. */
const agesMs: readonly number[] = [
  Number.NEGATIVE_INFINITY,
  ...Array.from({ length: 31 }, (_, i) => i * 30_000),
  ...Array.from({ length: 42 }, (_, i) => Math.round(15 * (7 / 6) ** (i + 1)) * 60_000),
]
