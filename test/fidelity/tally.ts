/** What a run has seen, what it must have seen, and how to say so. */
import assert from 'node:assert/strict'
import type { Answer, OutcomeSeen } from './client.ts'
import { isEmptyResult } from './client.ts'
import type { Difference } from './compare.ts'
import type { Itinerary, Run, Stop } from './itinerary.ts'
import { encode } from './spelling.ts'

export interface Comparison {
  readonly walk: Itinerary
  readonly stop: Stop
  readonly proxied: Answer
  readonly seen: OutcomeSeen
  readonly difference: Difference | undefined
}

/** More reports than this, or several of one walk, tell nothing new. */
const maxReports = 10

export class Tally {
  readonly #run: Run
  comparisons = 0
  nonEmpty = 0
  eligible = 0
  mismatches = 0
  misjudged = 0
  readonly outcomes = new Map<string, number>()
  readonly reasons = new Map<string, number>()
  /** What became of each form, by its query. */
  readonly byForm = new Map<string, Map<string, number>>()
  readonly #mismatchReports = new Map<number, string>()
  readonly #outcomeReports = new Map<number, string>()

  constructor(run: Run) {
    this.#run = run
  }

  add(comparison: Comparison): void {
    const { walk, seen, proxied } = comparison
    this.comparisons++
    if (!isEmptyResult(proxied)) this.nonEmpty++
    if (walk.form.eligible) this.eligible++
    count(this.outcomes, seen.outcome)
    count(this.reasons, `${seen.outcome}/${seen.reason}`)
    count(getOrAdd(this.byForm, walk.form.query), seen.outcome)
    this.#judge(comparison)
  }

  #judge(comparison: Comparison): void {
    const fault = outcomeFault(comparison)
    if (comparison.difference !== undefined) {
      this.mismatches++
      this.#keep(this.#mismatchReports, comparison, fault)
    } else if (fault !== undefined) {
      this.misjudged++
      this.#keep(this.#outcomeReports, comparison, fault)
    }
  }

  #keep(reports: Map<number, string>, comparison: Comparison, fault: string | undefined): void {
    const { number } = comparison.walk
    if (reports.size >= maxReports || reports.has(number)) return
    reports.set(number, report(this.#run, comparison, fault))
  }

  /** Wrong answers first: they are worse than wrong reasons. */
  get reports(): readonly string[] {
    return [...this.#mismatchReports.values(), ...this.#outcomeReports.values()]
  }

  share(outcome: string): number {
    return (this.outcomes.get(outcome) ?? 0) / this.comparisons
  }

  table(): string {
    const rows: [string, number][] = [
      ...[...this.outcomes].sort((a, b) => b[1] - a[1]),
      ['non-empty', this.nonEmpty],
      ['eligible', this.eligible],
      ['mismatches', this.mismatches],
    ]
    const lines = rows.map(([name, n]) => row(name, n, this.comparisons))
    const reasons = [...this.reasons].sort().map(([name, n]) => row(`  ${name}`, n, this.comparisons))
    return [row('comparisons', this.comparisons, this.comparisons), ...lines, 'by reason', ...reasons].join(
      '\n',
    )
  }
}

const row = (name: string, n: number, of: number) =>
  `${name.padEnd(34)}${String(n).padStart(8)}${((100 * n) / of).toFixed(1).padStart(8)} %`

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1)
}

function getOrAdd(maps: Map<string, Map<string, number>>, key: string): Map<string, number> {
  const found = maps.get(key) ?? new Map<string, number>()
  maps.set(key, found)
  return found
}

/** The database was asked: an error is never kept, so it is never found. */
const outcomesOfErrors: readonly string[] = ['bypass', 'error', 'miss', 'partial']

/** Returns why the outcome is not one that the form allows, or undefined. */
function outcomeFault({ walk: { form }, seen }: Comparison): string | undefined {
  const got = `${seen.outcome}/${seen.reason}`
  if (form.bypass !== undefined) {
    return got === `bypass/${form.bypass}` ? undefined : `expected bypass/${form.bypass}, got ${got}`
  }
  if (!form.eligible && form.error === undefined) return undefined
  const allowed = form.error === true ? outcomesOfErrors : ['hit', 'partial', 'miss']
  return allowed.includes(seen.outcome) ? undefined : `expected one of ${allowed.join(', ')}, got ${got}`
}

function report(run: Run, comparison: Comparison, fault: string | undefined): string {
  const { walk, stop, proxied, difference } = comparison
  const { method, search, form } = stop.ask
  const body = form.length === 0 ? '' : ` with the form ${encode(form)}`
  return [
    `seed ${run.seed}, walk ${walk.number}, request ${walk.stops.indexOf(stop) + 1} of ${walk.stops.length}`,
    `  query        ${walk.form.query}`,
    `  request      ${method} /api/v1/query_range?${encode(search)}${body}`,
    `  cache-status ${proxied.headers['cache-status'] ?? '(none)'}`,
    ...(fault === undefined ? [] : [`  outcome      ${fault}`]),
    ...(difference === undefined ? [] : describe(difference)),
    `  replay       WINDOWPANE_SEED=${run.seed} WINDOWPANE_WALK=${walk.number} ${run.replay}`,
  ].join('\n')
}

const describe = ({ what, direct, proxied }: Difference) => [
  `  differs in   ${what}`,
  `  direct       ${direct}`,
  `  proxied      ${proxied}`,
]

/** Throws unless every answer was the database's own and every outcome one that its form allows. */
export function assertFaithful(tally: Tally): void {
  const faults = `${tally.mismatches} mismatches and ${tally.misjudged} wrong outcomes`
  assert.equal(tally.mismatches + tally.misjudged, 0, `${faults}\n${tally.reports.join('\n')}`)
}

/** Throws unless the run has tried what it is for: a suite of empty answers or of plain forwards proves nothing. */
export function assertShares(tally: Tally): void {
  const shares: [name: string, share: number, least: number][] = [
    ['non-empty', tally.nonEmpty / tally.comparisons, 0.8],
    ['eligible', tally.eligible / tally.comparisons, 0.85],
    ['hit', tally.share('hit'), 0.4],
    ['partial', tally.share('partial'), 0.25],
  ]
  for (const [name, share, least] of shares) {
    assert.ok(share >= least, `share of ${name} is ${share.toFixed(3)}, expected at least ${least}`)
  }
}
