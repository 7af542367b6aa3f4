/** Whether the intervals of the measured staleness cover the truth, in many runs. */

import type { StalenessCase, StalenessRun } from '../../test/rigs/staleness-case.ts'
import { isMeasured, isTruthInside } from '../../test/rigs/staleness-report.ts'
import { ageGroups } from '../../test/rigs/staleness-tally.ts'
import { warmUpHours } from './suites.ts'

const streams = [
  { model: 'const', budget: 0.01 },
  { model: 'const', budget: 0.05 },
  { model: 'exp', budget: 0.05 },
  { model: 'pareto', budget: 0.01 },
  { model: 'batch', budget: 0.01 },
] as const

export const coverageCases = (runs: number): StalenessCase[] =>
  Array.from({ length: runs }, (_, i) => {
    const { model, budget } = streams[i % streams.length]!
    return {
      ...{ models: [model], policies: [{ kind: 'learned', budget }], seed: 1000 + i, windowHours: 24 },
      ...{ viewers: 1, several: false, warmUpHours, measuredHours: 24 },
    }
  })

const wanted = 0.9

/**
 * Groups in which nothing can be stale give no information about intervals: groups with a single viewer in the youngest
 * ages.
 */
const counted = ageGroups.slice(1)

export function printCoverage(runs: readonly StalenessRun[]): void {
  console.log('\n### 95 % intervals of the measured staleness\n')
  console.log('| age | samples per run | covers the truth | mean width, points |\n| --- | --- | --- | --- |')
  const all = counted.map(({ label, fromMs }) => {
    const at = ageGroups.findIndex((group) => group.fromMs === fromMs)
    const groups = runs.map(({ measured }) => measured[at]!).filter(isMeasured)
    const mean = (of: (group: (typeof groups)[number]) => number) =>
      groups.reduce((sum, group) => sum + of(group), 0) / groups.length
    const good = groups.filter(isTruthInside).length
    const width = 100 * mean(({ low, high }) => high - low)
    console.log(
      `| ${label} | ${mean(({ samples }) => samples).toFixed(0)} | ${good}/${groups.length} | ${width.toFixed(2)} |`,
    )
    return { good, of: groups.length }
  })
  const share = all.reduce((sum, { good }) => sum + good, 0) / all.reduce((sum, { of }) => sum + of, 0)
  const verdict = share >= wanted && runs.length >= 40 ? 'kept' : '**missed**'
  console.log(
    `\n- ${verdict}: covered in ${(100 * share).toFixed(1)} % of groups in ${runs.length} runs, wanted ≥ 90 % of ≥ 40 runs`,
  )
}
