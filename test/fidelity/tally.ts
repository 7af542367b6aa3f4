/** The results of a run, its required shares, and the report. */
import assert from 'node:assert/strict'
import type { BypassReason } from '../../src/backends/kinds.ts'
import type { OutcomeSeen } from './client.ts'

/** The expectations about the answers to a form. */
export interface Expectation {
  /** Never answered with `bypass`. */
  readonly eligible: boolean
  /** The reason that must be given. */
  readonly bypass?: BypassReason
  /** The database answers with an error. */
  readonly error?: true
}

/** Where two answers differ, and the text of each there. */
export interface Difference {
  readonly what: string
  readonly direct: string
  readonly proxied: string
}

export interface Comparison {
  readonly expected: Expectation
  /** The form by the name that people know it by. */
  readonly question: string
  /** The number of the walk, and which request of it this is: `3 of 10`. */
  readonly walk: number
  readonly place: string
  /** As it was sent, for people. */
  readonly request: string
  readonly isEmpty: boolean
  readonly cacheStatus: string | undefined
  readonly seen: OutcomeSeen
  /** The buckets that were fetched without need: a fault of the outcome, in words. */
  readonly needless?: string | undefined
  readonly difference: Difference | undefined
}

/** How a run is repeated. */
export interface Replay {
  readonly seed: number
  /** The command. */
  readonly replay: string
}

/**
 * The least shares of all comparisons that show that a run was meaningful. Walks are random: each bound is at least 6.5
 * standard deviations of runs of its size below the mean, so that chance reaches it less than once in 10⁹ runs.
 */
export interface LeastShares {
  readonly nonEmpty: number
  readonly eligible: number
  readonly hit: number
  readonly partial: number
}

/** More reports than this, or several of one walk, add nothing. */
const maxReports = 10

export class Tally {
  readonly #run: Replay
  comparisons = 0
  nonEmpty = 0
  eligible = 0
  mismatches = 0
  misjudged = 0
  readonly outcomes = new Map<string, number>()
  readonly reasons = new Map<string, number>()
  /** The results of each form, by its query. */
  readonly byForm = new Map<string, Map<string, number>>()
  readonly #mismatchReports = new Map<number, string>()
  readonly #outcomeReports = new Map<number, string>()

  constructor(run: Replay) {
    this.#run = run
  }

  add(comparison: Comparison): void {
    const { expected, question, seen, isEmpty } = comparison
    this.comparisons++
    if (!isEmpty) this.nonEmpty++
    if (expected.eligible) this.eligible++
    count(this.outcomes, seen.outcome)
    count(this.reasons, `${seen.outcome}/${seen.reason}`)
    count(getOrAdd(this.byForm, question), seen.outcome)
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
    const { walk } = comparison
    if (reports.size >= maxReports || reports.has(walk)) return
    reports.set(walk, report(this.#run, comparison, fault))
  }

  /** Wrong answers first: they are worse than wrong reasons. */
  get reports(): readonly string[] {
    return [...this.#mismatchReports.values(), ...this.#outcomeReports.values()]
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

/** The database was queried: an error is never stored, so it is never found. */
const outcomesOfErrors: readonly string[] = ['bypass', 'error', 'miss', 'partial']

/** Returns why the outcome is not one that the form allows, or undefined. */
function outcomeFault({ expected, seen, needless }: Comparison): string | undefined {
  const got = `${seen.outcome}/${seen.reason}`
  if (expected.bypass !== undefined) {
    return got === `bypass/${expected.bypass}` ? undefined : `expected bypass/${expected.bypass}, got ${got}`
  }
  if (!expected.eligible && expected.error === undefined) return undefined
  const allowed = expected.error === true ? outcomesOfErrors : ['hit', 'partial', 'miss']
  return allowed.includes(seen.outcome) ? needless : `expected one of ${allowed.join(', ')}, got ${got}`
}

function report(run: Replay, comparison: Comparison, fault: string | undefined): string {
  const { walk, place, question, request, cacheStatus, difference } = comparison
  return [
    `seed ${run.seed}, walk ${walk}, request ${place}`,
    `  query        ${question}`,
    `  request      ${request}`,
    `  cache-status ${cacheStatus ?? '(none)'}`,
    ...(fault === undefined ? [] : [`  outcome      ${fault}`]),
    ...(difference === undefined ? [] : describe(difference)),
    `  replay       WINDOWPANE_SEED=${run.seed} WINDOWPANE_WALK=${walk} ${run.replay}`,
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

/** For 20 000 comparisons with Prometheus. */
const usualShares: LeastShares = { nonEmpty: 0.8, eligible: 0.85, hit: 0.4, partial: 0.25 }

/** Throws unless the run was meaningful: a suite of empty answers or of plain forwards proves nothing. */
export function assertShares(tallies: readonly Tally[], least: LeastShares = usualShares): void {
  const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0)
  const all = sum(({ comparisons }) => comparisons)
  const shares: [name: string, share: number, least: number][] = [
    ['non-empty', sum(({ nonEmpty }) => nonEmpty) / all, least.nonEmpty],
    ['eligible', sum(({ eligible }) => eligible) / all, least.eligible],
    ['hit', sum(({ outcomes }) => outcomes.get('hit') ?? 0) / all, least.hit],
    ['partial', sum(({ outcomes }) => outcomes.get('partial') ?? 0) / all, least.partial],
  ]
  for (const [name, share, atLeast] of shares) {
    assert.ok(share >= atLeast, `share of ${name} is ${share.toFixed(3)}, expected at least ${atLeast}`)
  }
}
