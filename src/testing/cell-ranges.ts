/**
 * Ranges of the cell backend that takes several of them: they need not end where cells do.
 *
 *   GET /rows?q=text&ranges=ms-ms,ms-ms&step=ms&limit=n  →  {"rows":[[start,value],…]}   the first n rows, where n is
 *   given
 *
 * A row of a partially requested cell begins where the cell does, and has another value.
 */
import type { Bypass, Edges, Plan, WireRequest } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { bucketAt, endOf, type Grid, gridThrough, startOf } from '../core/grid.ts'
import { countOf, hullOf, type Interval, type Intervals, subtractAll, uniteAll } from '../core/interval.ts'

import type { Span } from './backend-runs.ts'

const maxRanges = 1_000
const maxBuckets = 100_000

/** Disjoint, not abutting, in time order; undefined where the text is not a list of ranges. */
export function readSpans(text: string | null | undefined): readonly Span[] | undefined {
  if (text === null || text === undefined) return undefined
  const spans: Span[] = []
  for (const range of text.split(',')) {
    const match = /^(0|[1-9]\d{0,14})-([1-9]\d{0,14})$/.exec(range)
    if (match === null || Number(match[1]) >= Number(match[2])) return undefined
    spans.push({ from: Number(match[1]), to: Number(match[2]) })
  }
  return uniteAll(spans, [])
}

export const printSpans = (spans: readonly Span[]): string =>
  spans.map(({ from, to }) => `${from}-${to}`).join(',')

/** The parts of each span in the cells of each interval. */
export function spansIn(spans: readonly Span[], intervals: Intervals, grid: Grid): readonly Span[] {
  return spans.flatMap((span) =>
    intervals
      .map(({ from, to }) => ({
        from: Math.max(span.from, startOf(grid, from)),
        to: Math.min(span.to, startOf(grid, to)),
      }))
      .filter(({ from, to }) => from < to),
  )
}

export interface RangesPlan extends Plan {
  readonly spans: readonly Span[]
  /** The answer ends after so many rows. */
  readonly limit: number
  layOver(spans: readonly Span[]): RangesPlan | Bypass
}

export function planRanges(
  request: WireRequest,
  parameters: ReadonlyMap<string, string>,
  keepsParts: boolean,
): RangesPlan | Bypass {
  const [step, limit] = [parameters.get('step'), parameters.get('limit')]
  const spans = readSpans(parameters.get('ranges'))
  if (spans === undefined || !isCount(step)) return { bypass: 'missing_parameter' }
  if (limit !== undefined && !isCount(limit)) return { bypass: 'invalid_parameter', detail: 'no such limit' }
  return layOver({ request, parameters, keepsParts }, spans)
}

interface RangesRequest {
  readonly request: WireRequest
  readonly parameters: ReadonlyMap<string, string>
  readonly keepsParts: boolean
}

function layOver(asking: RangesRequest, spans: readonly Span[]): RangesPlan | Bypass {
  const { request, parameters, keepsParts } = asking
  const [step, limit] = [parameters.get('step'), parameters.get('limit')]
  const grid = gridThrough('cell', Number(step), 0)
  const touched = cellsOf(spans, ({ from, to }) => ({
    from: bucketAt(grid, from),
    to: bucketAt(grid, to - 1) + 1,
  }))
  if (spans.length > maxRanges || countOf(touched) > maxBuckets) return { bypass: 'too_many_buckets' }
  const whole = cellsOf(spans, ({ from, to }) => ({
    from: bucketAt(grid, from - 1) + 1,
    to: bucketAt(grid, to),
  }))
  const others = [...parameters].filter(([name]) => name !== 'ranges' && name !== 'limit')
  const text = parameters.get('q') ?? ''
  const edges = edgesOf(spans, subtractAll(touched, whole), grid)
  return {
    ...{ text, shape: JSON.stringify(others.sort(([a], [b]) => (a < b ? -1 : 1))), grid },
    ...{ window: hullOf(touched), whole },
    ...(edges && { edges: keepsParts ? { ...edges, isStorable: true } : edges }),
    ...{ sources: text === '' ? [] : [text], knowsAllSources: true, lookbackMs: 0, terms: '' },
    ...{ isVerbatim: limit === undefined, limit: Number(limit ?? Number.POSITIVE_INFINITY) },
    ...{ request, spans, asked: spans },
    layOver: (others) => layOver(asking, others),
  }
}

const isCount = (text: string | undefined): boolean => text !== undefined && /^[1-9]\d{0,14}$/.test(text)

const cellsOf = (spans: readonly Span[], cells: (span: Span) => Interval): Intervals =>
  uniteAll(
    spans.map(cells).filter(({ from, to }) => from < to),
    [],
  )

function edgesOf(spans: readonly Span[], buckets: Intervals, grid: Grid): Edges | undefined {
  return buckets.length === 0 ? undefined : { buckets, parts: printSpans(spansIn(spans, buckets, grid)) }
}

/** The limit stays with the client: it is about all rows. */
export function narrowRanges({ grid, spans, request }: RangesPlan, intervals: Intervals): WireRequest {
  const parameters = new URLSearchParams(request.search)
  parameters.set('ranges', printSpans(spansIn(spans, intervals, grid)))
  parameters.delete('limit')
  return { ...request, search: parameters.toString() }
}

/**
 * The rows that the database has for some spans: `valueAt` returns the value of a whole cell. For a part it has a
 * number that identifies the part, so that it cannot be taken for the whole, or for another part.
 */
export function rowsIn(
  spans: readonly Span[],
  grid: Grid,
  valueAt: (start: EpochMs) => number | string | undefined,
): string[] {
  const rows: string[] = []
  for (const cell of touchedBy(spans, grid)) {
    const start = startOf(grid, cell)
    const value = valueAt(start)
    if (value === undefined) continue
    const parts = spansIn(spans, [{ from: cell, to: cell + 1 }], grid)
    const isWhole = parts[0]!.from === start && parts[0]!.to === endOf(grid, cell)
    rows.push(`[${start},${isWhole ? value : partValue(parts, start)}]`)
  }
  return rows
}

/** Cells in time order, each once. */
export function touchedBy(spans: readonly Span[], grid: Grid): readonly number[] {
  const cells = new Set<number>()
  for (const { from, to } of spans) {
    for (let cell = bucketAt(grid, from); cell <= bucketAt(grid, to - 1); cell++) cells.add(cell)
  }
  return [...cells]
}

const partValue = (parts: readonly Span[], start: EpochMs): string =>
  `-1${parts.map(({ from, to }) => `${digits(from - start)}${digits(to - start)}`).join('')}`

const digits = (ms: number): string => String(ms).padStart(9, '0')
