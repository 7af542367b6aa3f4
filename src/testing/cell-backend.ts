/**
 * A small complete backend for an imaginary database: rows of cells, one column and one lane. It shows that the seam is
 * not made for Prometheus alone, and the minimum of a backend.
 *
 *   GET /rows?q=text&from=ms&to=ms&step=ms  →  {"rows":[[start,value],…]}   cells without data are left out
 */
import type {
  Backend,
  Bypass,
  Decomposed,
  Plan,
  Recomposed,
  Sink,
  Unusable,
  WireRequest,
} from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { bucketAt, type Grid, gridThrough, isAligned, startOf } from '../core/grid.ts'
import type { Interval, Intervals } from '../core/interval.ts'
import type { Pane } from '../core/pane.ts'
import { PaneBuilder } from '../core/pane-builder.ts'
import { rowBytes } from '../core/pane-rows.ts'
import { narrowRanges, planRanges, type RangesPlan } from './cell-ranges.ts'

const path = '/rows'
const maxBuckets = 100_000

export interface CellQuery {
  readonly request: WireRequest
  /** Decoded, each name once. */
  readonly parameters: ReadonlyMap<string, string>
}

export interface CellOptions {
  /** One request can have several ranges, and parts of cells; see cell-ranges.ts. */
  readonly several?: boolean
  /** Parts of cells may be kept. */
  readonly keepsParts?: boolean
}

export function cellBackend({ several = false, keepsParts = false }: CellOptions = {}): Backend<CellQuery> {
  return {
    name: 'cells',
    capabilities: { severalIntervals: several, keptHeaders: [] },
    flavour: { path: '/version', read: (status, body) => ({ isKnown: status === 200, label: body }) },
    claims: (method, asked) => method === 'GET' && asked === path,
    parse: (request) => (request.method === 'GET' && request.path === path ? parse(request) : undefined),
    plan: several ? ({ request, parameters }) => planRanges(request, parameters, keepsParts) : plan,
    over: (plan, asked) => (isRanges(plan) ? plan.layOver(asked) : { bypass: 'invalid_parameter' }),
    narrow: (plan, intervals) =>
      isRanges(plan) ? narrowRanges(plan, intervals) : narrow(plan, intervals[0]!),
    decompose: ({ grid }, intervals) => new RowSink(grid, intervals),
    recompose: (plan, panes, options) =>
      recompose(isRanges(plan) ? firstRows(panes, plan.limit) : panes.map(rowBytes), options?.warnings ?? []),
    cancellation: {
      cancels: () => undefined,
      cancelledAnswer: () => ({ status: 500, contentType: 'text/plain', body: 'cancelled' }),
      isCancellation: (_status, body) => Buffer.from(body).toString() === 'cancelled',
    },
  }
}

const isRanges = (plan: Plan): plan is RangesPlan => 'spans' in plan

function parse(request: WireRequest): CellQuery | Bypass {
  const pairs = [...new URLSearchParams(request.search)]
  const parameters = new Map(pairs)
  if (parameters.size < pairs.length) return { bypass: 'malformed_request', detail: 'a parameter twice' }
  return { request, parameters }
}

function plan({ request, parameters }: CellQuery): Plan | Bypass {
  const [from, to, step] = ['from', 'to', 'step'].map((name) => wholeMs(parameters.get(name)))
  if (from === undefined || to === undefined || step === undefined) return { bypass: 'missing_parameter' }
  if (step === 0 || to <= from) return { bypass: 'invalid_parameter', detail: 'an empty range' }
  const grid = gridThrough('cell', step, from)
  if (!isAligned(grid, to)) return { bypass: 'invalid_parameter', detail: 'the last cell is not whole' }
  const window = { from: bucketAt(grid, from), to: bucketAt(grid, to) }
  if (window.to - window.from > maxBuckets) return { bypass: 'too_many_buckets' }
  const others = [...parameters].filter(([name]) => name !== 'from' && name !== 'to')
  const shape = JSON.stringify(others.sort(([a], [b]) => (a < b ? -1 : 1)))
  const sources = [parameters.get('q') ?? ''].filter((name) => name !== '')
  const reads = { sources, knowsAllSources: true, lookbackMs: 0 }
  const text = parameters.get('q') ?? ''
  return { text, shape, grid, window, whole: [window], ...reads, terms: '', isVerbatim: true, request }
}

function wholeMs(text: string | undefined): number | undefined {
  return text !== undefined && /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined
}

function narrow({ grid, request }: Plan, interval: Interval): WireRequest {
  const parameters = new URLSearchParams(request.search)
  parameters.set('from', String(startOf(grid, interval.from)))
  parameters.set('to', String(startOf(grid, interval.to)))
  return { ...request, search: parameters.toString() }
}

const opening = '{"rows":['
const closing = ']}'
const noRank = new Uint8Array(0)

/** Rows are short: they are cut when all are there. Each is kept with the comma behind it. */
class RowSink implements Sink {
  held = 0
  readonly #grid: Grid
  readonly #intervals: Intervals
  readonly #chunks: Buffer[] = []

  constructor(grid: Grid, intervals: Intervals) {
    this.#grid = grid
    this.#intervals = intervals
  }

  write(chunk: Uint8Array): void {
    this.#chunks.push(Buffer.from(chunk))
    this.held += chunk.length
  }

  end(fetchedAt: EpochMs): Decomposed | Unusable {
    const text = Buffer.concat(this.#chunks).toString('latin1')
    if (!text.startsWith(opening) || !text.endsWith(closing)) return { unusable: 'not rows' }
    const rows = text.slice(opening.length, -closing.length)
    const cut = new RowCut(this.#grid, rows === '' ? '' : `${rows},`)
    const panes = this.#intervals.map((interval) => cut.next(interval, fetchedAt))
    return cut.isOver ? { panes, storable: true } : { unusable: 'a row that does not belong here' }
  }
}

/** Takes rows from the front for as long as they belong into an interval. */
class RowCut {
  readonly #grid: Grid
  readonly #rows: string
  #at = 0

  constructor(grid: Grid, rows: string) {
    this.#grid = grid
    this.#rows = rows
  }

  get isOver(): boolean {
    return this.#at === this.#rows.length
  }

  next(interval: Interval, fetchedAt: EpochMs): Pane {
    const builder = new PaneBuilder(1)
    const begin = this.#at
    for (let bucket = this.#bucketIn(interval); bucket !== undefined; bucket = this.#bucketIn(interval)) {
      if (this.#at === begin) {
        builder.beginColumn(0, 0, noRank)
        builder.beginLane(0)
      }
      if (!builder.bucket(bucket.number - interval.from, this.#at - begin)) break
      this.#at = bucket.end
    }
    if (this.#at > begin) builder.endLane(this.#at - begin)
    const slab = Buffer.from(this.#rows.slice(begin, this.#at), 'latin1')
    return builder.finish({ interval, fetchedAt, slab })
  }

  /** The bucket of the next row, if it is one of the interval, and where the row ends. */
  #bucketIn({ from, to }: Interval): { number: number; end: number } | undefined {
    const row = /\[(0|[1-9]\d*),(?:-?\d+(?:\.\d+)?|null)\],/y
    row.lastIndex = this.#at
    const start = Number(row.exec(this.#rows)?.[1] ?? Number.NaN)
    const number = bucketAt(this.#grid, start)
    const isMine = isAligned(this.#grid, start) && number >= from && number < to
    return isMine ? { number, end: row.lastIndex } : undefined
  }
}

function recompose(rows: readonly Buffer[], warnings: readonly string[]): Recomposed {
  const length = rows.reduce((sum, piece) => sum + piece.length, 0)
  const end = Buffer.from(warnings.length === 0 ? closing : `],"warnings":${JSON.stringify(warnings)}}`)
  return {
    // The comma behind the last row gives its place to the closing bracket.
    length: opening.length + Math.max(0, length - 1) + end.length,
    write(target) {
      let at = Buffer.from(opening).copy(target)
      for (const piece of rows) at += piece.copy(target, at)
      end.copy(target, length > 0 ? at - 1 : at)
    },
  }
}

function firstRows(panes: readonly Pane[], limit: number): Buffer[] {
  const rows = panes.map(rowBytes)
  if (limit === Number.POSITIVE_INFINITY) return rows
  const all = Buffer.concat(rows)
  let end = 0
  for (let count = 0; count < limit && end < all.length; count++) end = all.indexOf('],', end) + 2
  return end === 0 ? [] : [all.subarray(0, end)]
}
