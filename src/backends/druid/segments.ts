/**
 * The source data of Druid's answers: the segments in the Broker's own view. Only `is_available` counts, because the
 * Broker answers from those segments and from no others; the metadata of the Coordinator run ahead of it.
 */
import type { EpochMs } from '../../core/clock.ts'
import { type Intervals, intersectAll, nothing, subtractAll, uniteAll } from '../../core/interval.ts'
import { jsonIn } from '../../core/json-object.ts'
import type { TimeSpan } from '../../core/witness.ts'
import type { WireRequest } from '../backend.ts'
import type {
  SegmentGroup,
  SegmentReader,
  SegmentView,
  SegmentWatch,
  SourceSpans,
  Unreadable,
} from '../segment-watch.ts'
import { parseInstant } from './interval-text.ts'
import { sqlPath } from './paths.ts'

const columns = ['datasource', 'start', 'end', 'version', 'partition_num', 'is_realtime']
const selected = columns.map((name) => `"${name}"`).join(', ')
const query = `SELECT ${selected} FROM sys.segments WHERE is_available = 1`

/** Lines can be read one by one, and the first shows whether the response has the expected form. */
const request: WireRequest = {
  method: 'POST',
  path: sqlPath,
  search: '',
  headers: ['content-type', 'application/json', 'accept', 'application/json'],
  body: Buffer.from(JSON.stringify({ query, resultFormat: 'arrayLines', header: true })),
}

export const segments: SegmentWatch = {
  request,
  permission: 'read sys.segments and the data sources',
  reader: () => new LineReader(),
  changes,
  atRest,
}

/** More would take too much memory to be compared. */
const maxSegments = 500_000
const maxLineBytes = 64 * 1024
const newline = 10

class LineReader implements SegmentReader {
  readonly #builder = new ViewBuilder()
  #rest: Buffer = Buffer.alloc(0)
  #lines = 0
  /** The empty line behind the last: without it something is missing. */
  #isComplete = false
  #trouble: string | undefined
  #start = ''

  write(chunk: Uint8Array): void {
    if (this.#start.length < maxStart)
      this.#start += Buffer.from(chunk.subarray(0, maxStart)).toString('latin1')
    if (this.#trouble !== undefined) return
    // A chunk is only valid during the call: the kept part is copied.
    const bytes = Buffer.concat([this.#rest, chunk])
    let from = 0
    for (let to = bytes.indexOf(newline); to >= 0; to = bytes.indexOf(newline, from)) {
      this.#line(bytes.toString('utf8', from, to))
      from = to + 1
    }
    this.#rest = bytes.subarray(from)
    if (this.#rest.length > maxLineBytes) this.#trouble ??= 'a line without an end'
  }

  end(status: number): SegmentView | Unreadable {
    if (status !== 200) return { unreadable: `status ${status}${said(this.#start)}` }
    if (this.#trouble !== undefined) return { unreadable: this.#trouble }
    const isWhole = this.#isComplete && this.#rest.length === 0
    return isWhole ? this.#builder.view : { unreadable: 'the answer breaks off' }
  }

  #line(line: string): void {
    if (this.#trouble !== undefined) return
    if (this.#isComplete) this.#trouble = 'something stands behind its end'
    if (line === '') {
      this.#isComplete = this.#lines > 0
      return
    }
    const isRead = this.#lines++ === 0 ? isHeader(line) : this.#builder.add(line)
    if (!isRead) this.#trouble = `not a list of segments: ${shown(line)}`
    else if (this.#builder.count > maxSegments) this.#trouble = `more than ${maxSegments} segments`
  }
}

const maxShown = 200
/** How far into an error its sentence is looked for. */
const maxStart = 2000

/** External text is shown without control characters, and shortened. */
const shown = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').slice(0, maxShown)

/** The sentence in an error of Druid. */
function said(body: string): string {
  const message = /"errorMessage"\s*:\s*"([^"\\]*)/.exec(body)?.[1] ?? ''
  return message === '' ? '' : `: ${shown(message)}`
}

const isHeader = (line: string): boolean => line === JSON.stringify(columns)

interface Growing extends TimeSpan {
  readonly published: string[]
  readonly realtime: string[]
}

class ViewBuilder {
  count = 0
  readonly #sources = new Map<string, Map<string, Growing>>()
  /** Most segments of a data source share few versions: their texts are kept once. */
  readonly #ids = new Map<string, string>()

  /** False where a line is not a segment. */
  add(line: string): boolean {
    const row = readRow(line)
    if (row === undefined) return false
    const { source, start, end, id, isRealtime } = row
    const groups = this.#sources.get(source) ?? new Map<string, Growing>()
    this.#sources.set(source, groups)
    const key = `${start}/${end}`
    const group = groups.get(key) ?? newGroup(start, end)
    if (group === undefined) return false
    groups.set(key, group)
    const shared = this.#ids.get(id) ?? id
    this.#ids.set(id, shared)
    const ids = isRealtime ? group.realtime : group.published
    ids.push(shared)
    this.count++
    return true
  }

  get view(): SegmentView {
    for (const groups of this.#sources.values()) {
      for (const { published, realtime } of groups.values()) {
        published.sort()
        realtime.sort()
      }
    }
    return { count: this.count, sources: this.#sources }
  }
}

function readRow(line: string) {
  const row = jsonIn(line)
  if (!Array.isArray(row) || row.length !== columns.length) return undefined
  const [source, start, end, version, partition, realtime] = row as unknown[]
  const hasNames = [source, start, end, version].every((each) => typeof each === 'string')
  const isFlag = realtime === 0 || realtime === 1
  if (!hasNames || !Number.isSafeInteger(partition) || !isFlag) return undefined
  return {
    source: source as string,
    start: start as string,
    end: end as string,
    id: `${version}_${partition}`,
    isRealtime: realtime === 1,
  }
}

function newGroup(start: string, end: string): Growing | undefined {
  const [from, to] = [instantOf(start), instantOf(end)]
  const isSpan = from !== undefined && to !== undefined && from < to
  return isSpan ? { from, to, published: [], realtime: [] } : undefined
}

/** Segments without an interval of their own reach from the beginning to the end of Joda-Time's range. */
function instantOf(text: string): EpochMs | undefined {
  if (/^-\d{5,9}-/.test(text)) return Number.NEGATIVE_INFINITY
  if (/^\+?\d{5,9}-/.test(text)) return Number.POSITIVE_INFINITY
  return parseInstant(text)
}

const none: ReadonlyMap<string, SegmentGroup> = new Map()

/**
 * Added or removed finished segments touch their interval. Segments in progress are under the TTL policy, as long as
 * they are added where something is being written anyway; where all was at rest, they touch that.
 */
function changes(before: SegmentView, after: SegmentView): readonly SourceSpans[] {
  const rest = atRest(before)
  const found: SourceSpans[] = []
  for (const source of new Set([...before.sources.keys(), ...after.sources.keys()])) {
    const [old, now] = [before.sources.get(source) ?? none, after.sources.get(source) ?? none]
    const spans = spansOf(old, now, rest.get(source) ?? nothing)
    if (spans.length > 0) found.push({ source, spans })
  }
  return found
}

type Groups = ReadonlyMap<string, SegmentGroup>

function spansOf(before: Groups, after: Groups, rest: Intervals): Intervals {
  const touched: TimeSpan[] = []
  for (const [key, group] of [...before, ...[...after].filter(([each]) => !before.has(each))]) {
    const [old, now] = [before.get(key), after.get(key)]
    const span = { from: group.from, to: group.to }
    if (hasOtherPublished(old, now)) touched.push(span)
    else if (!isEqual(old?.realtime ?? [], now?.realtime ?? [])) touched.push(...intersectAll([span], rest))
  }
  return uniteAll(touched, nothing)
}

/** One that was finished is the same as before, in another place. */
function hasOtherPublished(before: SegmentGroup | undefined, after: SegmentGroup | undefined): boolean {
  const [old, now] = [before?.published ?? [], after?.published ?? []]
  if (isEqual(old, now)) return false
  const written = new Set(before?.realtime)
  const finished = new Set(old)
  return !isEqual(
    old,
    now.filter((id) => finished.has(id) || !written.has(id)),
  )
}

const isEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i])

/**
 * Including the gaps between segments: that they are empty is as certain. Behind the last segment, data is still to
 * come.
 */
function atRest({ sources }: SegmentView): ReadonlyMap<string, Intervals> {
  return new Map([...sources].map(([source, groups]) => [source, restOf([...groups.values()])]))
}

function restOf(groups: readonly SegmentGroup[]): Intervals {
  const finished = groups.filter(({ published }) => published.length > 0)
  // A list as long as this does not fit into the arguments of one call.
  const end = finished.reduce((latest, { to }) => Math.max(latest, to), Number.NEGATIVE_INFINITY)
  const written = groups.filter(({ realtime }) => realtime.length > 0)
  const past = end > Number.NEGATIVE_INFINITY ? [{ from: Number.NEGATIVE_INFINITY, to: end }] : nothing
  return subtractAll(past, uniteAll(written, nothing))
}
