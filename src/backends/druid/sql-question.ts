/** The meaning of a SQL request apart from its time: parsed once from its text, and memoised. */
import { type ContextReading, readContext } from './context.ts'
import type { DruidOptions, DruidPlan, RowOrder } from './druid-plan.ts'
import type { JsonNode, JsonObject } from './json.ts'
import { isAbsent, textOf } from './lenient.ts'
import { sqlPath } from './paths.ts'
import { type Bypass, invalid, notDecomposable } from './reasons.ts'
import { type BodyKind, type Frame, readBody, type SqlBody } from './sql-body.ts'
import { type Bounds, readBounds } from './sql-bounds.ts'
import { type Bucketing, readBucketing } from './sql-bucket.ts'
import { isVolatile } from './sql-expression.ts'
import type { Order } from './sql-order.ts'
import type { Parameter, Reading } from './sql-reading.ts'
import type { PeriodGranularity } from './sql-rounding.ts'
import { readStatement, type Statement } from './sql-statement.ts'
import { isSymbol, type Token } from './sql-tokens.ts'
import { exactZone } from './zoned.ts'

export interface SqlQuestion
  extends Pick<
    DruidPlan,
    'text' | 'shape' | 'sources' | 'terms' | 'format' | 'isDescending' | 'limit' | 'order' | 'queryId'
  > {
  /** A bucket has one row. */
  readonly isAlone: boolean
  readonly granularity: PeriodGranularity
  readonly bounds: Bounds
  /** The zone of the session has no local time twice, and none never. */
  readonly isSteady: boolean
  /** The body, around the condition on the time of rows. */
  readonly frame: Frame
}

export type SqlOptions = Omit<DruidOptions, 'maxBuckets'>

export function readQuestion(kind: BodyKind, text: string, options: SqlOptions): SqlQuestion | Bypass {
  const body = readBody(kind, text)
  if ('bypass' in body) return body
  const statement = readStatement(body.query)
  if ('bypass' in statement) return statement
  const session = readSession(body, statement, options)
  if ('bypass' in session) return session
  if (session.isLimited) return { bypass: 'limit', detail: 'sqlOuterLimit' }
  const parameters = placeParameters(body, statement)
  if ('bypass' in parameters) return parameters
  const reading: Reading = { statement, zone: session.zone, parameters }
  const bucketing = readBucketing(reading)
  if ('bypass' in bucketing) return bucketing
  const bounds = readBounds(reading, statement.where)
  const read = { body, session, reading, bucketing, bounds }
  return refuseRest(statement, bounds) ?? refuseOrder(read) ?? ask(read)
}

/** The kept keys of its context are sorted. */
export interface Session extends ContextReading {
  readonly zone: Reading['zone']
  readonly queryId: string | undefined
  /** Its context limits the rows of the answer. */
  readonly isLimited: boolean
}

/** SET statements count more than the context beside the query. */
export function readSession(
  body: SqlBody,
  { settings }: Pick<Statement, 'settings'>,
  { ignoredContext, sqlTimeZone = 'UTC' }: SqlOptions,
): Session | Bypass {
  const members = new Map([...(body.context?.members ?? []), ...settings])
  const context: JsonObject = { kind: 'object', members, start: 0, end: 0 }
  const reading = readContext(context, ignoredContext)
  if ('bypass' in reading) return reading
  const refusal = refuseSession(members)
  if (refusal !== undefined) return refusal
  const name = textOf(members.get('sqlTimeZone')) ?? sqlTimeZone
  const rules = exactZone(name)
  if (rules === undefined) return invalid('sqlTimeZone: a zone that we do not know')
  const queryId = textOf(members.get('sqlQueryId'))
  const kept = new Map([...reading.kept].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...reading, kept, zone: { name, rules }, queryId, isLimited: members.has('sqlOuterLimit') }
}

/** Session settings that only SQL has. */
function refuseSession(members: ReadonlyMap<string, JsonNode>): Bypass | undefined {
  const isGiven = (key: string): boolean => !isAbsent(members.get(key))
  if ([...members.keys()].some((key) => !isGiven(key)))
    return invalid('context: null, which Druid takes in native queries only')
  if (isGiven('sqlCurrentTimestamp')) return invalid('sqlCurrentTimestamp')
  if (isGiven('engine') && textOf(members.get('engine')) !== 'native') {
    return notDecomposable('another engine than the native one')
  }
  const isNoText = isGiven('sqlTimeZone') && textOf(members.get('sqlTimeZone')) === undefined
  return isNoText ? invalid('sqlTimeZone is no text') : undefined
}

/** Each question mark of the text, and its parameter. */
export function placeParameters(
  { parameters }: SqlBody,
  { tokens }: Pick<Statement, 'tokens'>,
): Reading['parameters'] | Bypass {
  const places = questionMarks(tokens)
  if (places.length !== parameters.length) return invalid('more parameters than question marks, or fewer')
  const placed = new Map<number, Parameter>()
  for (const [i, place] of places.entries()) {
    const { parameter } = parameters[i]!
    if (parameter !== undefined) placed.set(place, parameter)
  }
  return placed
}

const questionMarks = (tokens: Statement['tokens']): readonly number[] =>
  tokens.flatMap((token, i) => (isSymbol(token, '?') ? [i] : []))

/** The clock may appear in bounds only: there it is replaced by instants. */
function refuseRest({ tokens }: Statement, { places }: Bounds): Bypass | undefined {
  if (places.length === 0) return { bypass: 'too_many_buckets', detail: 'no bounds of __time that we read' }
  const found = tokens.find((token, i) => isVolatile(token) && placeOf(places, i) < 0)
  return found === undefined ? undefined : { bypass: 'unsafe_function', detail: found.keyword }
}

/** The number of the place that a token is in, or -1. Places are in the order of the text. */
function placeOf(places: Bounds['places'], token: number): number {
  let [low, high] = [0, places.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (places[middle]!.first <= token) low = middle
    else high = middle - 1
  }
  const { first, last } = places[low]!
  return first <= token && token <= last ? low : -1
}

/** CSV prints text and numbers alike; some context keys make Druid cut or sort in another way. */
function refuseOrder({ body, session, reading, bucketing }: Read): Bypass | undefined {
  const { order } = bucketing
  const isCut = order !== undefined || reading.statement.limit !== undefined
  const tuned = isCut ? limitTuning.find((key) => session.kept.has(key)) : undefined
  if (tuned !== undefined) return { bypass: 'limit', detail: `${tuned}: rows are cut in another way` }
  if (order === undefined || body.format.row !== 'csv') return undefined
  return notDecomposable('csv that is not in time order')
}

const limitTuning = ['forceLimitPushDown', 'minTopNThreshold']

interface Read {
  readonly body: SqlBody
  readonly session: Session
  readonly reading: Reading
  readonly bucketing: Bucketing
  readonly bounds: Bounds
}

function ask(read: Read): SqlQuestion | Bypass {
  const { body, session, bucketing, bounds } = read
  const { statement } = read.reading
  const { granularity, column, names, isDescending, isAlone } = bucketing
  const fieldOf = (at: number) => (body.format.row === 'object' ? (names?.[at] ?? '') : at)
  if (body.format.row === 'object' && names === undefined) return notDecomposable('two columns of one name')
  const removed = removedParameters(statement, bounds)
  const { head, tail } = cutQuery(read)
  return {
    text: body.query,
    shape: shapeOf(read, removed),
    sources: [statement.table.name],
    terms: session.terms,
    queryId: session.queryId,
    format: { ...body.format, time: fieldOf(column) },
    isDescending,
    limit: statement.limit?.rows ?? Number.POSITIVE_INFINITY,
    order: bucketing.order && rowOrder(bucketing.order, fieldOf),
    isAlone,
    granularity,
    bounds,
    isSteady: session.zone.rules.fixedOffset !== undefined,
    frame: body.splice(head, tail, removed),
  }
}

const rowOrder = ({ keys, isTopN }: Order, fieldOf: (column: number) => string | number): RowOrder => ({
  isTopN,
  keys: keys.map(({ column, kind, isDescending }) => ({ field: fieldOf(column), kind, isDescending })),
})

/** Numbers of the parameters that stand in bounds. */
const removedParameters = ({ tokens }: Statement, { places }: Bounds): ReadonlySet<number> =>
  new Set(questionMarks(tokens).flatMap((mark, i) => (placeOf(places, mark) >= 0 ? [i] : [])))

/**
 * The first bound is replaced; it will include the demands of all others. Words may be right before and behind a bound:
 * brackets separate the replacement from them.
 */
function cutQuery({ body: { query }, reading: { statement }, bucketing, bounds }: Read): Frame {
  const { tokens } = statement
  const [first, ...others] = bounds.places
  const places = others.map(({ first, last }) => ({ from: first, to: last + 1, text: '(TRUE)' }))
  let tail = ''
  let at = tokens[first!.last]!.to
  for (const { from, to, text } of [...places, ...endingOf(statement, bucketing.order)]) {
    // An insertion goes right behind the word before: a comment may follow.
    const start = from < to ? tokens[from]!.from : tokens[from - 1]!.to
    tail += query.slice(at, start) + text
    at = from < to ? tokens[to - 1]!.to : start
  }
  return { head: query.slice(0, tokens[first!.first]!.from), tail: tail + query.slice(at) }
}

/** Tokens [from .. to) that are replaced: the narrowed query has no limit, and an order by which it can be cut. */
type Edit = Pick<Token, 'from' | 'to' | 'text'>

function endingOf({ orderAt, orderBy, limit }: Statement, order: Order | undefined): readonly Edit[] {
  if (order !== undefined) {
    const last = limit?.last ?? orderBy.at(-1)?.last ?? orderAt - 1
    return [{ from: orderAt, to: last + 1, text: ` ${order.text} ` }]
  }
  return limit === undefined ? [] : [{ from: limit.first, to: limit.last + 1, text: '' }]
}

/** Spaces, comments and how bounds are written do not show in an answer; everything else may. */
function shapeOf({ body, session, reading, bounds }: Read, removed: ReadonlySet<number>): string {
  const { tokens, select } = reading.statement
  const words: string[] = []
  for (let i = select; i < tokens.length - 1; i++) {
    const place = bounds.places[placeOf(bounds.places, i)]
    words.push(place === undefined ? body.query.slice(tokens[i]!.from, tokens[i]!.to) : timeWord)
    if (place !== undefined) i = place.last
    joinTimes(words)
  }
  const parameters = body.parameters.filter((_, i) => !removed.has(i)).map(({ text }) => text)
  const { kept, zone } = session
  return JSON.stringify([sqlPath, words.join(' '), body.others, parameters, [...kept], zone.name])
}

/** Stands for all bounds; no word of SQL has a colon in it. */
const timeWord = ':time'

/** Bounds that are connected by nothing but AND and brackets are one. */
function joinTimes(words: string[]): void {
  const isBracketed = words.at(-1) === ')' && words.at(-2) === timeWord && words.at(-3) === '('
  if (isBracketed) words.splice(-3, 3, timeWord)
  const isPair =
    words.at(-1) === timeWord && words.at(-2)?.toUpperCase() === 'AND' && words.at(-3) === timeWord
  if (isPair) words.splice(-2)
}
