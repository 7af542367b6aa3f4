/** The kinds of TTL policies that can be configured, and how each becomes one. */
import { exponential } from '../ttl/exponential.ts'
import { fixed } from '../ttl/fixed.ts'
import { ladder, publishedLadder } from '../ttl/ladder.ts'
import { learned } from '../ttl/learned/learned-policy.ts'
import { linear } from '../ttl/linear.ts'
import { logarithmic } from '../ttl/logarithmic.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import { rate } from '../ttl/rate.ts'
import { type Step, steps, stepsMistake } from '../ttl/steps.ts'
import { type Check, key, list, optional, required, section, type TypeValue, variants } from './definition.ts'
import { duration, percentage, ratio } from './scalars.ts'
import { formatDuration } from './units.ts'

const { floorMs, doublingMs, capMs } = publishedLadder
const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const floor = key(duration(), floorMs, { meaning: 'the TTL of the newest buckets' })
const cap = key(duration(), capMs, { meaning: 'the longest TTL' })
const doubling = key(duration(), doublingMs, {
  meaning: 'the TTL doubles with every further one of these in age',
})

const staleness = key(percentage, 0.01, {
  meaning: 'the budget: at most this share of the served buckets may be out of date, at every age',
})
/** An hour, as of the ladder, would give most of the gain away: old buckets would be refetched every hour. */
const longCap = key(duration(), 24 * hour, { meaning: 'the longest TTL' })

const falls = 'a TTL must never fall as a bucket grows older, because lookups rely on it'

const floorFitsCap = (why = ''): Check => ({
  run({ floorMs: low, capMs: high }: { floorMs?: number; capMs?: number }, report) {
    if (low !== undefined && high !== undefined && low > high)
      report('floor', `${formatDuration(low)} is longer than the cap of ${formatDuration(high)}${why}`)
  },
})

const risesToCap = floorFitsCap(`: ${falls}`)

const risesByStep: Check = {
  run(value: { floorMs: number; steps: readonly Step[] }, report) {
    const mistake = stepsMistake(value)
    if (mistake === undefined) return
    const { at, why } = mistake
    const [step, before] = [value.steps[at]!, value.steps[at - 1]]
    if (why === 'age_does_not_rise') {
      const ages = `${formatDuration(step.ageMs)} comes after ${formatDuration(before!.ageMs)}`
      return report(`steps.${at}.age`, `${ages}: the ages of steps must rise`)
    }
    const from = formatDuration(before?.ttlMs ?? value.floorMs)
    const change = `the TTL falls from ${from} to ${formatDuration(step.ttlMs)}`
    report(`steps.${at}.ttl`, `${change} at the age of ${formatDuration(step.ageMs)}: ${falls}`)
  },
}

const stepSection = section({
  age: required(duration({ min: 0 }), 'from this age on, counted from the end of the bucket'),
  ttl: required(duration(), 'the TTL of a bucket'),
})

export const policySection = variants(
  {
    ladder: section({ floor, doubling, cap }, { checks: [risesToCap] }),
    exponential: section({ floor, doubling, cap }, { checks: [risesToCap] }),
    linear: section(
      {
        floor,
        slope: key(ratio(100), 0.1, { meaning: 'the TTL as a share of the age: 0.1 is 6 s at one minute' }),
        cap,
      },
      { checks: [risesToCap] },
    ),
    logarithmic: section(
      {
        floor,
        rise: key(duration(), 30 * second, {
          meaning: 'the increase of the TTL with every doubling of the age',
        }),
        unit: key(duration(), 60 * second, { meaning: 'the age at which the first rise is complete' }),
        cap,
      },
      { checks: [risesToCap] },
    ),
    steps: section(
      { floor, steps: required(list(stepSection, 1), 'a schedule, from young to old') },
      { checks: [risesByStep] },
    ),
    fixed: section({ ttl: required(duration(), 'the TTL at every age') }),
    rate: section(
      {
        changesEvery: required(duration(), 'the mean time between two changes of a bucket, at every age'),
        staleness,
        floor: optional(duration(), 'no TTL is shorter than this, even if that breaks the budget'),
        cap: optional(duration(), 'no TTL is longer than this'),
      },
      { checks: [floorFitsCap()] },
    ),
    learned: section(
      {
        staleness,
        floor,
        cap: longCap,
        settled: key(duration(), ladder().settledAgeMs, {
          meaning:
            'from this age on a bucket is settled: it is kept also where it is empty, and probed for corrections',
        }),
      },
      { checks: [floorFitsCap()] },
    ),
  },
  'ladder',
  { implied: { key: 'staleness', type: 'learned' } },
)

export type PolicyConfig = TypeValue<typeof policySection>

/** The policy that a configured one stands for. */
export function policyOf(config: PolicyConfig): TtlPolicy {
  switch (config.type) {
    case 'ladder':
      return ladder(config)
    case 'exponential':
      return exponential(config)
    case 'linear':
      return linear(config)
    case 'logarithmic':
      return logarithmic(config)
    case 'steps':
      return steps(config)
    case 'fixed':
      return fixed(config.ttlMs)
    case 'rate':
      return rate({ ...config, budget: config.staleness })
    case 'learned':
      return learned({ ...config, settledAgeMs: config.settledMs })
  }
}
