/** The command line of `npm run bench:staleness`. */
import { parseArgs } from 'node:util'
import { type ChangeModelName, changeModels } from '../../test/rigs/change-models.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { type Grid, suites } from './suites.ts'

export const usage = `npm run bench:staleness -- [options]
  --suite NAME         short (default), full or wide; with any of the next options, one grid is made of them
  --models LIST        of ${Object.keys(changeModels).join(', ')}
  --policies LIST      of ladder, fixed60, fixed300, oracle, learned
  --budgets LIST       shares or percentages, like 1%,5%
  --rule LIST          of one, several: how many intervals a query may have
  --window LIST        hours
  --viewers LIST
  --seeds N            seeds 1 to N
  --days N             simulated days after the warm-up of a day
  --scenarios LIST     only these, or all: ${Object.keys(scenarios).join(', ')}
  --coverage N         only this: whether intervals cover the truth, in N runs
  --jobs N             processes (default: 2)
  --json FILE          writes all runs there`

export interface BenchOptions {
  readonly grids: readonly Grid[]
  readonly what: 'table' | 'scenarios' | 'coverage'
  readonly scenarios: readonly Scenario[]
  readonly coverageRuns: number
  readonly jobs: number
  readonly json: string | undefined
}

export function readOptions(args: readonly string[]): BenchOptions {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ suite: text, models: text, policies: text, budgets: text, rule: text, window: text },
      ...{ viewers: text, seeds: text, days: text, coverage: text, jobs: text, json: text },
      scenarios: text,
    },
  })
  const list = (value: string | undefined) => value?.split(',')
  const grid = without({
    models: list(values.models) as ChangeModelName[] | undefined,
    policies: list(values.policies) as Grid['policies'] | undefined,
    budgets: list(values.budgets)?.map(shareOf),
    rules: list(values.rule) as Grid['rules'] | undefined,
    windows: list(values.window)?.map(Number),
    viewers: list(values.viewers)?.map(Number),
    seeds: values.seeds === undefined ? undefined : Number(values.seeds),
    days: values.days === undefined ? undefined : Number(values.days),
  })
  const suite = suites[(values.suite ?? 'short') as keyof typeof suites]
  return {
    grids: Object.keys(grid).length === 0 || values.suite !== undefined ? suite : [{ ...suite[0]!, ...grid }],
    what: values.scenarios !== undefined ? 'scenarios' : values.coverage === undefined ? 'table' : 'coverage',
    scenarios: scenariosNamed(values.scenarios),
    coverageRuns: Number(values.coverage ?? 40),
    jobs: Number(values.jobs ?? 2),
    json: values.json,
  }
}

const scenariosNamed = (list = 'all'): Scenario[] =>
  (list === 'all' ? Object.keys(scenarios) : list.split(',')).map((name) => scenarios[name]!)

const shareOf = (text: string): number =>
  text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text)

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the properties that are undefined. */
function without<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>
}
