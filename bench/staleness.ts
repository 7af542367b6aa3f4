/**
 * True and measured staleness, and its cost to the database, under eight models of change: the published ladder, fixed
 * TTLs, an oracle that knows all rates, and the learned policy. The engine is the real one, time is simulated, and the
 * same seed gives the same figures: `npm run bench:staleness`, options in staleness/options.ts.
 */
import { writeFileSync } from 'node:fs'
import type { StalenessCase, StalenessRun } from '../test/rigs/staleness-case.ts'
import { coverageCases, printCoverage } from './staleness/coverage.ts'
import { printMarks } from './staleness/marks.ts'
import { readOptions, usage } from './staleness/options.ts'
import { runAll } from './staleness/pool.ts'
import { casesOf, warmUpHours } from './staleness/suites.ts'
import { rowsOf } from './staleness/summary.ts'
import { printTables } from './staleness/table.ts'

if (process.argv.includes('--help')) {
  console.log(usage)
  process.exit()
}
const { grids, what, scenarios, coverageRuns, jobs, json } = readOptions(process.argv.slice(2))
const all: StalenessRun[] = []
console.log(`60 s buckets, refreshed every 10 s. Warm-up ${warmUpHours} h where nothing else is said.`)
if (what === 'scenarios') await playScenarios()
else if (what === 'coverage') printCoverage(await run(coverageCases(coverageRuns)))
else await printTable()
if (json !== undefined) writeFileSync(json, JSON.stringify(all))

async function printTable(): Promise<void> {
  const cases = grids.flatMap((grid) => [...casesOf(grid)])
  const distinct = new Map(cases.map((each) => [JSON.stringify(each), each]))
  const rows = rowsOf(await run([...distinct.values()]))
  printTables(rows)
  printMarks(rows)
}

async function playScenarios(): Promise<void> {
  for (const { title, cases, print } of scenarios) {
    const runs = await run(cases)
    console.log(`\n### ${title}\n`)
    print(runs)
  }
}

async function run(cases: readonly StalenessCase[]): Promise<StalenessRun[]> {
  const runs = await runAll(cases, jobs, ({ case: { models, policies, seed } }, done) =>
    console.error(`${done}/${cases.length} ${models} ${JSON.stringify(policies)} seed ${seed}`),
  )
  all.push(...runs)
  return runs
}
