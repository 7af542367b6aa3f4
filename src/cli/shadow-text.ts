/** The report of shadow mode as people read it. */
import type { MismatchView, ShadowView } from '../proxy/admin/shadow.ts'
import type { Lenient } from './admin-client.ts'
import {
  type Colour,
  counted,
  fitted,
  oneLine,
  painter,
  shorten,
  type TextStyle,
  tableLines,
  texts,
} from './text.ts'

export type ShadowMismatch = Lenient<
  Omit<MismatchView, 'buckets'> & { readonly buckets: readonly ShadowBucket[] },
  'id' | 'at' | 'backend' | 'text' | 'cause' | 'sentence'
>

type ShadowBucket = Lenient<MismatchView['buckets'][number], 'at'>

export type ShadowBackend = Lenient<
  Omit<ShadowView, 'mismatches'> & { readonly mismatches: readonly ShadowMismatch[] },
  'backend' | 'mode' | 'comparisons' | 'equal' | 'explained' | 'unexplained' | 'verdict' | 'sentence'
>

export interface ShadowAnswer {
  readonly backends: readonly ShadowBackend[]
  /** Why nodes may be missing. */
  readonly note?: string
}

const verdictColours: Readonly<Record<string, Colour>> = { safe: 'green', wait: 'yellow', unsafe: 'red' }

/** Others give no information about the safety of a cache. */
export const isCompared = ({ mode, comparisons }: ShadowBackend): boolean =>
  /\bshadow\b/.test(mode) || comparisons > 0

export function reportLines(backends: readonly ShadowBackend[], style: TextStyle): string[] {
  const lines = backends.flatMap((backend, i) => [
    ...(i === 0 ? [] : ['']),
    ...(isCompared(backend) ? backendLines(backend, style) : [idleLine(backend)]),
  ])
  return backends.some(isCompared) ? lines : [...lines, 'Begin with: windowpane mode <backend> shadow']
}

const idleLine = ({ backend, mode }: ShadowBackend): string =>
  `${oneLine(backend)}: mode ${mode}; nothing was compared.`

function backendLines(report: ShadowBackend, style: TextStyle): string[] {
  const paint = painter(style)
  const { backend, mode, since, verdict, comparisons, equal, explained, unexplained } = report
  const causes = countsOf(report.causes)
  const skipped = countsOf(report.skipped)
  const wouldBe = countsOf(report.wouldBe)
  return [
    `${oneLine(backend)}: ${paint(verdict.toUpperCase(), verdictColours[verdict] ?? 'grey')}  mode ${mode}${since === undefined ? '' : ` since ${since}`}`,
    oneLine(report.sentence),
    `  ${counted(comparisons, 'comparison')}: ${equal} equal, ${explained} explained, ${unexplained} unexplained`,
    ...nodeLines(report),
    ...(causes === '' ? [] : [`  causes: ${causes}`]),
    ...(skipped === '' ? [] : [`  not compared: ${skipped}`]),
    ...(wouldBe === '' ? [] : [`  would have been: ${wouldBe}`]),
    ...(report.mismatches ?? []).flatMap((mismatch) => ['', ...mismatchLines(mismatch, style)]),
  ]
}

const nodeLines = ({ nodes = [] }: ShadowBackend): string[] =>
  nodes.map(
    ({ node, mode, comparisons, unexplained }) =>
      `  node ${oneLine(node)}: mode ${oneLine(mode)}, ${counted(comparisons, 'comparison')}, ${unexplained} unexplained`,
  )

const countsOf = (counts: Readonly<Record<string, number>> = {}): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')

export function mismatchLines(mismatch: ShadowMismatch, style: TextStyle): string[] {
  const { id, at, backend, text, window, cause, sentence, buckets = [] } = mismatch
  const lines = [
    `mismatch ${oneLine(String(id))} at ${at}, ${oneLine(backend)}: ${oneLine(cause)}`,
    `  ${oneLine(text)}`,
    ...(window === undefined ? [] : [`  window ${window.from} – ${window.to}${stepText(window.step)}`]),
    `  ${oneLine(sentence)}`,
    ...(buckets.length === 0 ? [] : bucketLines(buckets)),
  ]
  return fitted(lines, style)
}

const stepText = (step: number | string | undefined): string =>
  step === undefined ? '' : `, step ${typeof step === 'number' ? `${step} ms` : step}`

function bucketLines(buckets: readonly ShadowBucket[]): string[] {
  const rows = buckets.map(({ at, fetchedAt, ageMs, cached, direct, columns = [] }) => [
    `  ${at}`,
    ageMs === undefined ? (fetchedAt ?? '') : `${(ageMs / 1000).toFixed(1)} s before`,
    valueText(cached),
    valueText(direct),
    columns.map(oneLine).join(' '),
  ])
  return tableLines(texts('  bucket', 'fetched', 'cached', 'direct', 'columns'), rows)
}

const valueText = (value: string | null | undefined): string =>
  value == null || value === '' ? 'nothing' : shorten(oneLine(value), 40)
