/**
 * Suggestions from the traffic of a proxy: hit share, bypasses, dashboards off the grid, answers that are not shared.
 */
import { bypassReasons } from '../../backends/kinds.ts'
import { type Finding, found } from '../../core/finding.ts'
import { stars } from '../../core/secrets.ts'
import { shapeText } from '../shape-text.ts'
import { counted, percent, shorten } from '../text.ts'
import type { TopShape } from '../top-text.ts'
import { type Sample, sumOf } from './samples.ts'

/** With fewer queries a share has no meaning. */
const fewestQueries = 50
const lowHitShare = 0.3
const highBypassShare = 0.1
const shownText = 60

/** Queries over a time range only: instant queries, labels and pages are never cached. */
const rangeQueries = (samples: readonly Sample[]): Sample[] =>
  samples.filter(
    ({ name, labels }) => name === 'windowpane_requests_total' && labels['reason'] !== 'not_a_range_query',
  )

export function hitFinding(samples: readonly Sample[]): Finding {
  const about = found('hit share')
  const queries = rangeQueries(samples)
  const total = sumOf(queries)
  if (total < fewestQueries) return about.skip(`Too few range queries so far: ${total}.`)
  const isServed = ({ labels }: Sample) => ['hit', 'partial', 'stale'].includes(labels['outcome']!)
  const served = sumOf(queries.filter(isServed))
  const text = `${percent(served / total)} of ${total} range queries were answered from the cache, at least in part`
  if (served >= lowHitShare * total) return about.ok(`${text}.`)
  const remedy =
    'windowpane top --by asked shows the queries that reach the database, and windowpane explain the reason.'
  return about.warn(`${text}: few.`, remedy)
}

export function bypassFinding(samples: readonly Sample[]): Finding {
  const about = found('bypass')
  const queries = rangeQueries(samples)
  const total = sumOf(queries)
  if (total < fewestQueries) return about.skip(`Too few range queries so far: ${total}.`)
  const bypassed = queries
    .filter(({ labels, value }) => labels['outcome'] === 'bypass' && value > 0)
    .toSorted((a, b) => b.value - a.value)
  const share = sumOf(bypassed) / total
  const reasons = bypassed
    .slice(0, 3)
    .map(({ labels, value }) => `${labels['reason'] ?? ''} ${percent(value / total)}`)
  const list = reasons.length === 0 ? '' : `: ${reasons.join(', ')}`
  const text = `${percent(share)} of ${total} range queries were forwarded uncached${list}`
  if (share <= highBypassShare) return about.ok(`${text}.`)
  // A proxy of another version may know reasons that this command does not.
  const words = Object.entries(bypassReasons).find(([reason]) => reason === bypassed[0]!.labels['reason'])
  return about.warn(`${text}.`, words?.[1].remedy ?? 'See docs/reference/outcomes.md.')
}

/** One question under several keys. */
interface Twins {
  readonly row: TopShape
  readonly count: number
  readonly requests: number
}

const severalPhases = 4
const severalIdentities = 3
/** No deployment has so many tenants: an identity header changes with every session or request. */
const tooManyIdentities = 100

/** Keys that agree in everything but the phase: a dashboard whose windows begin anywhere. */
export function phaseFindings(rows: readonly TopShape[]): Finding[] {
  const twins = twinsOf(
    rows,
    (row) => [row.backend, row.shape, row.stepMs, row.calendar],
    (row) => row.phaseMs,
  )
  const worst = twins.find(({ count }) => count >= severalPhases)
  const about = found('alignment')
  if (worst === undefined) return rows.length === 0 ? [] : [about.ok('Dashboards use few grids.')]
  const sentence = `"${textOf(worst)}" was requested on ${worst.count} grids of different phase, which share no buckets (${counted(worst.requests, 'request')}).`
  const remedy =
    'Let windows begin on multiples of the step: Grafana does so for panels with a min interval; scripts should round start and end.'
  return [about.warn(sentence, remedy)]
}

/** Keys that agree in everything, the phase too: only the identity differs. */
export function identityFindings(rows: readonly TopShape[]): Finding[] {
  const grid = (row: TopShape) => [row.backend, tokenless(row), row.stepMs, row.phaseMs ?? 0, row.calendar]
  const worst = twinsOf(rows, grid, (row) => row.key).find(({ count }) => count >= severalIdentities)
  const about = found('identity')
  if (worst === undefined) return rows.length === 0 ? [] : [about.ok('Equal questions share their answers.')]
  const sentence = `"${textOf(worst)}" is kept ${worst.count} times, for as many identities (${counted(worst.requests, 'request')}).`
  const key = `backends.${worst.row.backend}.identity`
  if (worst.count <= tooManyIdentities) {
    return [about.warn(sentence, `If they may see the same, set ${key} to user, headers or shared.`)]
  }
  const reason =
    'More than 100: a token, a cookie or a session changes often, and each change begins with an empty cache.'
  const remedy = `Find the header in docs/reference/headers.md; then set ${key} to user, headers or shared.`
  return [about.warn(`${sentence} ${reason}`, remedy)]
}

/** An access token in the query string is an identity, too: shapes have its fingerprint (core/secrets.ts). */
const tokenless = ({ shape }: TopShape): string => shape.replaceAll(/\*{3}[\w-]{22}/g, stars)

const textOf = ({ row }: Twins): string => shorten(shapeText(row.shape), shownText)

/**
 * Shapes that agree in `same` and differ in `different`, the ones in most keys first. An unplanned request has no key.
 */
function twinsOf(
  rows: readonly TopShape[],
  same: (row: TopShape) => readonly unknown[],
  different: (row: TopShape) => unknown,
): Twins[] {
  // A text that was cut may stand for several questions.
  const planned = rows.filter(
    ({ key, stepMs, shape }) => key !== undefined && stepMs > 0 && !shape.endsWith('…'),
  )
  const groups = Map.groupBy(planned, (row) => JSON.stringify(same(row)))
  return [...groups.values()]
    .map((group) => ({
      row: group[0]!,
      count: new Set(group.map(different)).size,
      requests: group.reduce((sum, { count }) => sum + count, 0),
    }))
    .toSorted((a, b) => b.count - a.count)
}
