/**
 * Records on their way to another thread: numbers in one array, every text once. A message of objects would carry the name
 * of every field with every record, and making and reading it would cost more than the rest of a small hit's telemetry.
 */
import type { RequestRecord } from '../telemetry/record.ts'

const numberFields = [
  ...(['at', 'stepMs', 'phaseMs', 'from', 'to', 'buckets', 'gapFrom', 'gapTo', 'gapBuckets'] as const),
  ...(['knownFrom', 'knownTo', 'missingBuckets', 'asked', 'bytes', 'status', 'upstreamStatus'] as const),
  ...(['planMs', 'lookupMs', 'fetchMs', 'totalMs', 'ageSeconds', 'ttlSeconds'] as const),
]
const textFields = [
  ...(['backend', 'method', 'outcome', 'reason', 'detail', 'shape', 'key', 'unstored', 'endpoint'] as const),
]
const flagFields = ['isForwarded', 'isCollapsed', 'isStored'] as const

type Field = (typeof numberFields | typeof textFields | typeof flagFields)[number]
/** Members that few records have, uncompressed. */
type Rare = Pick<RequestRecord, 'calendar' | 'pieces'>

const width = numberFields.length + textFields.length + flagFields.length
const place = Object.fromEntries(
  [...numberFields, ...textFields, ...flagFields].map((field, index) => [field, index]),
) as Record<Field, number>

export interface RecordColumns {
  readonly count: number
  /** `width` of them for each record; a text is its place among the texts. NaN: there is none. */
  readonly numbers: Float64Array
  readonly texts: readonly string[]
  readonly rare: ReadonlyMap<number, Rare>
}

export class RecordWriter {
  readonly #numbers: Float64Array
  #texts = new Map<string, number>()
  #rare = new Map<number, Rare>()
  #count = 0

  constructor(maxRecords: number) {
    this.#numbers = new Float64Array(maxRecords * width)
  }

  get count(): number {
    return this.#count
  }

  add(record: RequestRecord): void {
    const numbers = this.#numbers
    let at = this.#count * width
    for (const field of numberFields) numbers[at++] = record[field] ?? Number.NaN
    for (const field of textFields) numbers[at++] = this.#placeOf(record[field])
    for (const field of flagFields) numbers[at++] = record[field] ? 1 : 0
    const { calendar, pieces } = record
    if (calendar !== undefined || pieces !== undefined) this.#rare.set(this.#count, { calendar, pieces })
    this.#count++
  }

  /** All since the last time. */
  drain(): RecordColumns {
    const columns = {
      count: this.#count,
      // A part of an array would take all of it along.
      numbers: this.#numbers.slice(0, this.#count * width),
      texts: [...this.#texts.keys()],
      rare: this.#rare,
    }
    this.#count = 0
    this.#texts = new Map()
    this.#rare = new Map()
    return columns
  }

  #placeOf(text: string | undefined): number {
    if (text === undefined) return Number.NaN
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    this.#texts.set(text, this.#texts.size)
    return this.#texts.size - 1
  }
}

/** The records as they were added. */
export function* recordsIn(columns: RecordColumns): Generator<RequestRecord> {
  for (let index = 0; index < columns.count; index++) yield recordAt(columns, index)
}

function recordAt({ numbers, texts, rare }: RecordColumns, index: number): RequestRecord {
  const begin = index * width
  const number = (field: Field): number => numbers[begin + place[field]]!
  const given = (field: Field): number | undefined =>
    Number.isNaN(number(field)) ? undefined : number(field)
  const text = (field: Field): string | undefined =>
    Number.isNaN(number(field)) ? undefined : texts[number(field)]
  const flag = (field: Field): boolean => number(field) === 1
  const other = rare.get(index)
  return {
    at: number('at'),
    backend: text('backend')!,
    method: text('method')!,
    outcome: text('outcome') as RequestRecord['outcome'],
    reason: text('reason') as RequestRecord['reason'],
    detail: text('detail'),
    shape: text('shape')!,
    key: text('key'),
    stepMs: number('stepMs'),
    phaseMs: number('phaseMs'),
    calendar: other?.calendar,
    from: number('from'),
    to: number('to'),
    buckets: number('buckets'),
    gapFrom: number('gapFrom'),
    gapTo: number('gapTo'),
    gapBuckets: number('gapBuckets'),
    knownFrom: number('knownFrom'),
    knownTo: number('knownTo'),
    missingBuckets: number('missingBuckets'),
    pieces: other?.pieces,
    asked: number('asked'),
    bytes: number('bytes'),
    status: number('status'),
    upstreamStatus: given('upstreamStatus'),
    planMs: number('planMs'),
    lookupMs: number('lookupMs'),
    fetchMs: number('fetchMs'),
    totalMs: number('totalMs'),
    ageSeconds: given('ageSeconds'),
    ttlSeconds: given('ttlSeconds'),
    endpoint: text('endpoint'),
    isForwarded: flag('isForwarded'),
    isCollapsed: flag('isCollapsed'),
    isStored: flag('isStored'),
    unstored: text('unstored') as RequestRecord['unstored'],
  }
}
