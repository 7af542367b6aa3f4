/** The report of shadow mode as people read it. */
import type { BackendView } from '../proxy/admin/shadow.ts'
import {
  type Colour,
  counted,
  fitted,
  type Look,
  oneLine,
  painter,
  shorten,
  tableLines,
  texts,
} from './text.ts'

type MismatchView = BackendView['mismatches'][number]

export interface ShadowReport {
  readonly backends: readonly BackendView[]
  /** Why nodes may be missing. */
  readonly note?: string
}

const verdictColours: Readonly<Record<string, Colour>> = { safe: 'green', wait: 'yellow', unsafe: 'red' }

/** Others give no information about the safety of a cache. */
export const isCompared = ({ mode, comparisons }: BackendView): boolean =>
  /\bshadow\b/.test(mode) || comparisons > 0

export function reportLines(backends: readonly BackendView[], look: Look): string[] {
  const lines = backends.flatMap((backend, i) => [
    ...(i === 0 ? [] : ['']),
    ...(isCompared(backend) ? backendLines(backend, look) : [idleLine(backend)]),
  ])
  return backends.some(isCompared) ? lines : [...lines, 'Begin with: windowpane mode <backend> shadow']
}

const idleLine = ({ backend, mode }: BackendView): string =>
  `${oneLine(backend)}: mode ${mode}; nothing was compared.`

function backendLines(report: BackendView, look: Look): string[] {
  const paint = painter(look)
  const { backend, mode, since, verdict, comparisons, equal, explained, unexplained } = report
  const causes = countsOf(report.causes)
  const skipped = countsOf(report.skipped)
  const wouldBe = countsOf(report.wouldBe)
  return [
    `${oneLine(backend)}: ${paint(verdict.toUpperCase(), verdictColours[verdict] ?? 'grey')}  mode ${mode} since ${since}`,
    oneLine(report.sentence),
    `  ${counted(comparisons, 'comparison')}: ${equal} equal, ${explained} explained, ${unexplained} unexplained`,
    ...nodeLines(report),
    ...(causes === '' ? [] : [`  causes: ${causes}`]),
    ...(skipped === '' ? [] : [`  not compared: ${skipped}`]),
    ...(wouldBe === '' ? [] : [`  would have been: ${wouldBe}`]),
    ...report.mismatches.flatMap((mismatch) => ['', ...mismatchLines(mismatch, look)]),
  ]
}

const nodeLines = ({ nodes = [] }: BackendView): string[] =>
  nodes.map(
    ({ node, mode, comparisons, unexplained }) =>
      `  node ${oneLine(node)}: mode ${oneLine(mode)}, ${counted(comparisons, 'comparison')}, ${unexplained} unexplained`,
  )

const countsOf = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')

export function mismatchLines(mismatch: MismatchView, look: Look): string[] {
  const { id, at, backend, text, window, cause, sentence, buckets } = mismatch
  const lines = [
    `mismatch ${oneLine(id)} at ${at}, ${oneLine(backend)}: ${oneLine(cause)}`,
    `  ${oneLine(text)}`,
    `  window ${window.from} – ${window.to}, step ${stepText(window.step)}`,
    `  ${oneLine(sentence)}`,
    ...(buckets.length === 0 ? [] : bucketLines(buckets)),
  ]
  return fitted(lines, look)
}

const stepText = (step: number | string): string => (typeof step === 'number' ? `${step} ms` : step)

function bucketLines(buckets: MismatchView['buckets']): string[] {
  const rows = buckets.map(({ at, ageMs, cached, direct, columns }) => [
    `  ${at}`,
    `${(ageMs / 1000).toFixed(1)} s before`,
    valueText(cached),
    valueText(direct),
    columns.map(oneLine).join(' '),
  ])
  return tableLines(texts('  bucket', 'fetched', 'cached', 'direct', 'columns'), rows)
}

const valueText = (value: string): string => (value === '' ? 'nothing' : shorten(oneLine(value), 40))
