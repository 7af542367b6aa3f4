/** Cases that the table does not show: rates that change, cold starts, slow databases, many shapes, two budgets at once. */

import { computeTtl } from '../../src/ttl/staleness-budget.ts'
import { stepAtS } from '../../test/rigs/change-models.ts'
import type { CohortRun, PolicySpec, StalenessCase, StalenessRun } from '../../test/rigs/staleness-case.ts'
import { ageGroups } from '../../test/rigs/staleness-tally.ts'
import { policyLabel } from './summary.ts'

export interface Scenario {
  readonly title: string
  readonly cases: readonly StalenessCase[]
  print(runs: readonly StalenessRun[]): void
}

const learned = (budget: number): PolicySpec => ({ kind: 'learned', budget })
const stepHour = stepAtS / 3600
const usual = { seed: 1, windowHours: 24, viewers: 1, several: false, warmUpHours: 24, measuredHours: 24 }

const rise: Scenario = {
  title: 'Buckets older than two minutes change 20 times as often, from one change in two days on',
  cases: [0.01, 0.05].flatMap((budget) =>
    [false, true].flatMap((several) =>
      [1, 2, 3].map((seed) => ({
        ...{
          ...usual,
          models: ['rise'] as const,
          policies: [learned(budget)],
          several,
          seed,
          measuredHours: 34,
        },
      })),
    ),
  ),
  print(runs) {
    for (const same of Map.groupBy(runs, (run) => JSON.stringify({ ...run.case, seed: 0 })).values()) {
      printRecovery(same)
    }
  },
}

function printRecovery(runs: readonly StalenessRun[]): void {
  const { policies, several } = runs[0]!.case
  const { budget } = policies[0] as { budget: number }
  const hours = worstByHour(runs).slice(stepHour)
  // An hour has few changes: the mean of three hours is less noisy.
  const isWithin = (at: number) => meanOf(hours.slice(at, at + 3)) <= 1.2 * budget
  const recovered = hours.findIndex((_, at) => hours.every((_, later) => later < at || isWithin(later)))
  const ttlHours = computeTtl(1 / 48, budget)
  const allowed = 3 * ttlHours
  const verdict = recovered >= 0 && recovered <= allowed + 1 ? 'kept' : '**missed**'
  console.log(
    `- ${verdict}: ${100 * budget} %, ${several ? 'several intervals' : 'one interval'}: peak ${percent(Math.max(...hours))} %, ` +
      `≤ 1.2 × budget from hour ${recovered} on; TTL before ${ttlHours.toFixed(1)} h, allowed ${allowed.toFixed(1)} h`,
  )
  console.log(`  by hour: ${hours.slice(0, 20).map(percent).join(' ')}`)
}

/** The stalest group above two minutes, per hour, of the mean over seeds. */
function worstByHour(runs: readonly StalenessRun[]): number[] {
  return runs[0]!.costs.map((_, hour) =>
    Math.max(
      ...ageGroups.map((_, group) =>
        group === 0 ? 0 : meanOf(runs.map(({ cohorts }) => cohorts[0]!.hours[hour]![group] ?? 0)),
      ),
    ),
  )
}

const fall: Scenario = {
  title: 'The rate falls to a twentieth: one change in two days again',
  cases: [false, true].map((several) => ({
    ...{ ...usual, models: ['fall'] as const, policies: [learned(0.01)], several, measuredHours: 72 },
  })),
  print(runs) {
    for (const { case: each, costs } of runs) {
      const at = [-6, 0, 6, 12, 24, 36, 48]
      const perHour = at.map((hours) => {
        const some = costs.slice(stepHour + hours, stepHour + hours + 6)
        return `${hours} h: ${meanOf(some.map(({ buckets }) => buckets)).toFixed(0)}`
      })
      console.log(
        `- 1 %, ${each.several ? 'several intervals' : 'one interval'}, buckets/h from hour: ${perHour.join(', ')}`,
      )
    }
  },
}

const coldStart: Scenario = {
  title: 'Cold start: true staleness by hour, from the first on',
  cases: (['pareto', 'exp', 'const'] as const).flatMap((model) =>
    [false, true].map((several) => ({
      ...{ ...usual, models: [model], policies: [learned(0.05)], several, warmUpHours: 0, measuredHours: 8 },
    })),
  ),
  print(runs) {
    for (const run of runs) printHours(run, run.cohorts[0]!, 0)
  },
}

const latency: Scenario = {
  title: 'Queries that take their time, 30 viewers',
  cases: (['exp', 'pareto'] as const).flatMap((model) =>
    [0, 300, 2000].flatMap((latencyMs) =>
      [false, true].map((several) => ({
        ...{ ...usual, models: [model], policies: [learned(0.05)], several, latencyMs, viewers: 30 },
        ...{ windowHours: 3, warmUpHours: 6, measuredHours: 6 },
      })),
    ),
  ),
  print(runs) {
    for (const run of runs) {
      const { latencyMs, several, models } = run.case
      const mean = meansOver(run.cohorts[0]!, run.case)
      console.log(
        `- ${models[0]}, 5 %, ${several ? 'several intervals' : 'one interval'}, ${latencyMs} ms: ${mean.map(percent).join(' · ')} %, ` +
          `${run.queriesPerHour.toFixed(0)} queries/h, ${run.bucketsPerHour.toFixed(0)} buckets/h`,
      )
    }
  },
}

const manyShapes: Scenario = {
  title: 'Fifty shapes over five sources; ten of them are new',
  cases: [false, true].map((several) => ({
    ...{ ...usual, policies: [learned(0.05)], several, panels: 50, viewers: 50, windowHours: 3 },
    ...{ models: ['never', 'exp', 'expslow', 'pareto', 'const'] as const, warmUpHours: 10, measuredHours: 4 },
    late: { panels: 10, fromHour: 10 },
  })),
  print(runs) {
    for (const run of runs) {
      for (const cohort of run.cohorts) printHours(run, cohort, run.case.warmUpHours)
      const hours = run.costs.map(({ buckets }) => buckets.toFixed(0))
      console.log(`  buckets/h of all: ${hours.join(' ')}`)
    }
  },
}

const twoBudgets: Scenario = {
  title: 'Two budgets at once, on the same kind of data',
  cases: [false, true].map((several) => ({
    ...{
      ...usual,
      models: ['pareto'] as const,
      policies: [learned(0.01), learned(0.05)],
      several,
      panels: 2,
      viewers: 2,
    },
  })),
  print(runs) {
    for (const run of runs) {
      for (const cohort of run.cohorts) {
        const { budget } = cohort.policy as { budget: number }
        const means = meansOver(cohort, run.case)
        const worst = Math.max(...means.slice(1)) / budget
        const verdict = worst <= 1.2 ? 'kept' : '**missed**'
        console.log(
          `- ${verdict}: ${labelOf(run, cohort)}: ${means.map(percent).join(' · ')} %, worst ÷ budget ${worst.toFixed(2)}`,
        )
      }
    }
  },
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  ...{ rise, fall, cold: coldStart, latency, shapes: manyShapes, budgets: twoBudgets },
}

function printHours(run: StalenessRun, cohort: CohortRun, fromHour: number): void {
  const hours = cohort.hours.slice(fromHour).map((groups) => groups.map(percent).join('·'))
  console.log(`- ${labelOf(run, cohort)}: ${hours.join('  ')}`)
}

const labelOf = ({ case: { several } }: StalenessRun, { model, policy, isLate }: CohortRun): string =>
  `${model}, ${policyLabel({ policy })}, ${several ? 'several intervals' : 'one interval'}${isLate ? ', new' : ''}`

const meansOver = ({ hours }: CohortRun, { warmUpHours }: StalenessCase): number[] =>
  ageGroups.map((_, group) => meanOf(hours.slice(warmUpHours).map((groups) => groups[group] ?? 0)))

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const percent = (share: number | undefined): string => (share === undefined ? '–' : (100 * share).toFixed(1))
