/** Which cases the table is made of. */
import type { ChangeModelName } from '../../test/rigs/change-models.ts'
import type { PolicySpec, StalenessCase } from '../../test/rigs/staleness-case.ts'

type PolicyName = 'ladder' | 'fixed60' | 'fixed300' | 'oracle' | 'learned'

export interface Grid {
  readonly models: readonly ChangeModelName[]
  readonly policies: readonly PolicyName[]
  readonly budgets: readonly number[]
  readonly rules: readonly ('one' | 'several')[]
  /** Hours. */
  readonly windows: readonly number[]
  readonly viewers: readonly number[]
  readonly seeds: number
  /** After the warm-up. */
  readonly days: number
}

export const warmUpHours = 24

const models = ['never', 'exp', 'expslow', 'pareto', 'const', 'batch', 'backfill', 'burst'] as const
const compared = ['oracle', 'learned'] as const
const common = { models, budgets: [0.01, 0.05], rules: ['one', 'several'], windows: [24], days: 1 } as const
const withLadder = ['ladder', ...compared] as const

/** Minutes on two idle cores: 7, 35 and 12. */
export const suites = {
  short: [
    { ...common, policies: withLadder, viewers: [1], seeds: 1 },
    { ...common, policies: withLadder, windows: [3], viewers: [30], rules: ['one'], seeds: 1 },
  ],
  /** A mean over ten seeds. */
  full: [{ ...common, policies: compared, viewers: [1], seeds: 10 }],
  /** Comparisons whose figures hardly vary from seed to seed, and other windows and numbers of viewers. */
  wide: [
    { ...common, policies: ['ladder', 'fixed60', 'fixed300', ...compared], viewers: [1], seeds: 1 },
    { ...common, policies: withLadder, viewers: [30], rules: ['one'], seeds: 1 },
    { ...common, policies: withLadder, windows: [3], viewers: [1], seeds: 2 },
    { ...common, policies: withLadder, windows: [3], viewers: [30], rules: ['one'], seeds: 1 },
  ],
} satisfies Record<string, readonly Grid[]>

export function* casesOf(grid: Grid): Generator<StalenessCase> {
  for (const rule of grid.rules) {
    for (const windowHours of grid.windows) {
      for (const viewers of grid.viewers) {
        for (const model of grid.models) {
          for (const policy of policiesOf(grid)) {
            for (let seed = 1; seed <= grid.seeds; seed++) {
              yield {
                ...{ models: [model], policies: [policy], seed, windowHours, viewers, warmUpHours },
                ...{ several: rule === 'several', measuredHours: 24 * grid.days },
              }
            }
          }
        }
      }
    }
  }
}

function policiesOf({ policies, budgets }: Grid): PolicySpec[] {
  return policies.flatMap((name): PolicySpec[] => {
    if (name === 'ladder') return [{ kind: 'ladder' }]
    if (name === 'oracle' || name === 'learned') return budgets.map((budget) => ({ kind: name, budget }))
    return [{ kind: 'fixed', ttlS: Number(name.slice('fixed'.length)) }]
  })
}
