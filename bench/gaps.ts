/**
 * All gaps of a request as the intervals of one query, against the published rule that fetches everything from the first gap
 * on: `npm run bench:gaps`. Simulated time, the engine's own coverage, gaps and ladder; per minute and panel.
 */
import { cases } from './gaps/cases.ts'
import { type Cost, type Rule, rules, simulate } from './gaps/simulation.ts'

/** The results of refreshes and minutes depend on the draw of phases. */
const seeds = [1, 2, 3]

const mean = (costs: readonly Cost[], what: 'queries' | 'intervals' | 'buckets'): number =>
  costs.reduce((sum, cost) => sum + cost[what] / cost.minutes, 0) / costs.length

const line = (...cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`)
const both = (costs: readonly Cost[]): string =>
  `${mean(costs, 'queries').toFixed(1)} · ${mean(costs, 'buckets').toFixed(1)}`
const change = (from: number, to: number): string => `${(100 * (to / from - 1)).toFixed(1)} %`

console.log('queries a minute · buckets a minute\n')
line(
  'workload',
  'prefix, published',
  'prefix, here',
  'a query per gap',
  'gaps only, one query',
  'Windowpane',
  'buckets',
)
line(...Array.from({ length: 7 }, () => '---'))
for (const { name, workload, published } of cases) {
  const costs = (rule: Rule): Cost[] => seeds.map((seed) => simulate(workload, rule, seed))
  const [prefix, gaps, own] = [costs(rules.prefix), costs(rules.gaps), costs(rules.windowpane)]
  line(
    name,
    `${published.queries} · ${published.buckets}`,
    both(prefix),
    mean(gaps, 'intervals').toFixed(1),
    both(gaps),
    both(own),
    change(mean(prefix, 'buckets'), mean(own, 'buckets')),
  )
}
