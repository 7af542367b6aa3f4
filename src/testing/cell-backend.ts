/**
 * A small complete backend for a database that nobody has: rows of cells, one column and one lane. It shows that the
 * seam is not made for Prometheus alone, and what a backend needs at least.
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
import type { Interval } from '../core/interval.ts'
import type { Pane } from '../core/pane.ts'
import { PaneBuilder } from '../core/pane-builder.ts'
import { columnIn, mergeColumns } from '../core/pane-merge.ts'

const path = '/rows'
const maxBuckets = 100_000

export interface CellQuery {
  readonly request: WireRequest
  /** Decoded, each name once. */
  readonly parameters: ReadonlyMap<string, string>
}

export function cellBackend(): Backend<CellQuery> {
  return {
    name: 'cells',
    flavourPath: '/version',
    readFlavour: (status, body) => ({ isKnown: status === 200, label: body }),
    claims: (method, asked) => method === 'GET' && asked === path,
    errorAnswer: (_status, message) => ({ contentType: 'text/plain', body: message }),
    parse: (request) => (request.method === 'GET' && request.path === path ? parse(request) : undefined),
    plan,
    takesSeveralIntervals: false,
    keptHeaders: [],
    narrow: (plan, [interval]) => narrow(plan, interval!),
    decompose: ({ grid }, [interval]) => new RowSink(grid, interval!),
    recompose: (_plan, panes, options) => recompose(panes, options?.warnings ?? []),
  }
}

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
  readonly #interval: Interval
  readonly #chunks: Buffer[] = []

  constructor(grid: Grid, interval: Interval) {
    this.#grid = grid
    this.#interval = interval
  }

  write(chunk: Uint8Array): void {
    this.#chunks.push(Buffer.from(chunk))
    this.held += chunk.length
  }

  end(fetchedAt: EpochMs): Decomposed | Unusable {
    const text = Buffer.concat(this.#chunks).toString('latin1')
    if (!text.startsWith(opening) || !text.endsWith(closing)) return { unusable: 'not rows' }
    const rows = text.slice(opening.length, -closing.length)
    const slab = Buffer.from(rows === '' ? '' : `${rows},`, 'latin1')
    const builder = new PaneBuilder(1)
    if (slab.length > 0) builder.beginColumn(0, 0, noRank)
    if (!this.#cut(builder, slab.toString('latin1'))) return { unusable: 'a row that does not belong here' }
    return { panes: [builder.finish({ interval: this.#interval, fetchedAt, slab })], storable: true }
  }

  #cut(builder: PaneBuilder, rows: string): boolean {
    if (rows === '') return true
    const row = /\[(0|[1-9]\d*),(?:-?\d+(?:\.\d+)?|null)\],/y
    builder.beginLane(0)
    while (row.lastIndex < rows.length) {
      const at = row.lastIndex
      const match = row.exec(rows)
      if (match === null || !this.#takes(builder, Number(match[1]), at)) return false
    }
    builder.endLane(rows.length)
    return true
  }

  #takes(builder: PaneBuilder, start: EpochMs, at: number): boolean {
    const bucket = bucketAt(this.#grid, start)
    const { from, to } = this.#interval
    return isAligned(this.#grid, start) && bucket >= from && bucket < to && builder.bucket(bucket - from, at)
  }
}

function recompose(panes: readonly Pane[], warnings: readonly string[]): Recomposed {
  const rows = rowsOf(panes)
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

function rowsOf(panes: readonly Pane[]): Buffer[] {
  const merge = mergeColumns(panes)
  if (merge.count === 0) return []
  return panes.flatMap(({ body, from, to }, i) => {
    const column = columnIn(merge, panes.length, 0, i)
    if (column < 0) return []
    const [start, end] = [body.offsetOf(column, 0, from), body.offsetOf(column, 0, to)]
    return [body.bytes.subarray(body.slabAt + start, body.slabAt + end)]
  })
}
