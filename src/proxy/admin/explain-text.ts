/** An explanation as text for a terminal: the verdict first, then its details. */
import { calendarText } from '../../core/calendar.ts'
import type { Grid } from '../../core/grid.ts'
import { iso } from '../../core/text.ts'
import type {
  ExplainedInterval,
  ExplainedRun,
  ExplainedTtl,
  Explanation,
} from '../../engine/explain/explain.ts'
import type { Spread } from '../../engine/explain/runs.ts'
import { duration } from '../../engine/explain/sentence.ts'
import type { RunReport } from './run.ts'

export function explanationText(explanation: Explanation, run: RunReport | undefined): string {
  const { key, shape, grid, window, policy, rule, asked, joined = [], ttls = [] } = explanation
  const lines: string[] = []
  const row = (name: string, value: string): void => void lines.push(`${name.padEnd(9)}${value}`)
  if (shape !== undefined) row('shape', shape)
  if (key !== undefined) row('key', key)
  if (grid !== undefined) row('grid', gridText(grid))
  if (window !== undefined) row('window', spanOf(window))
  if (rule !== undefined) row('rule', rule)
  if (explanation.rewritten !== undefined) row('except', explanation.rewritten)
  if (policy !== undefined) row('policy', policy)
  for (const each of explanation.runs ?? []) row(each.state, runText(each))
  if (explanation.moreRuns !== undefined) row('', `and ${explanation.moreRuns} more runs`)
  for (const each of explanation.edges ?? []) row('part of', `${spanOf(each)}, ${each.state}`)
  for (const mark of explanation.marks ?? []) row('marked', `${spanOf(mark)}, ${saidIn(mark)}`)
  for (const flight of joined) row('joins', `${spanOf(flight)}, requested at ${iso(flight.startedAt)}`)
  if (asked !== undefined) {
    row('asks', spanOf(asked))
    row('', [`${asked.method} ${asked.path}`, asked.search, asked.body].filter(Boolean).join(' '))
  }
  for (const each of ttls) row('gives', `${spreadOf(each.ttlMs)} to ${spanOf(each)}${lapseText(each)}`)
  const parts = [[explanation.sentence], lines, run === undefined ? [] : runLines(run)]
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n')
}

const gridText = ({ kind, step, origin, calendar }: Grid): string =>
  calendar === undefined
    ? `${kind} every ${duration(step)}, phase ${duration(origin)}`
    : `${kind} every ${calendarText(calendar)}`

const spanOf = ({ from, to, buckets }: ExplainedInterval): string =>
  `${iso(from)} – ${iso(to)}  ${buckets} bucket${buckets === 1 ? '' : 's'}`

const spreadOf = ({ min, max }: Spread): string =>
  min === max ? duration(min) : `${duration(min)} … ${duration(max)}`

const lapseText = ({ ttlMs, lapsesInMs: lapse = ttlMs }: ExplainedTtl): string =>
  lapse.min === ttlMs.min && lapse.max === ttlMs.max ? '' : `, lapsing in ${spreadOf(lapse)}`

const saidIn = ({ kind, at }: NonNullable<ExplainedRun['mark']>): string =>
  `${kind === 'purge' ? 'purged' : 'marked as changed'} at ${iso(at)}`

function runText(run: ExplainedRun): string {
  const { fetchAgeMs, ttlLeftMs, settled, mark, vouched } = run
  const parts = [spanOf(run)]
  if (fetchAgeMs !== undefined) parts.push(`fetched ${spreadOf(fetchAgeMs)} ago`)
  if (ttlLeftMs !== undefined) parts.push(`TTL left ${spreadOf(ttlLeftMs)}`)
  if (settled) parts.push('settled')
  if (vouched) parts.push('unchanged since then')
  if (mark !== undefined) parts.push(saidIn(mark))
  return parts.join(', ')
}

const barWidth = 40

function runLines({ status, bytes, cacheStatus, waterfall, totalMs }: RunReport): string[] {
  const scale = barWidth / Math.max(totalMs, 1e-9)
  const bars = waterfall.map(({ phase, startMs, ms }) => {
    const [indent, width] = [Math.round(startMs * scale), Math.max(1, Math.round(ms * scale))]
    return `${phase.padEnd(9)}${`${' '.repeat(indent)}${'█'.repeat(width)}`.slice(0, barWidth + 1).padEnd(barWidth + 2)}${duration(ms)}`
  })
  return [
    `ran      status ${status}, ${bytes} bytes, ${duration(totalMs)}`,
    `         ${cacheStatus}`,
    ...bars,
  ]
}
