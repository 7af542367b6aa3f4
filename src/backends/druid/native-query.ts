/** The meaning of a native query apart from its time: whether its answer can be cut into buckets, and its format. */
import { canonicalMembers, canonicalObject } from './canonical.ts'
import { type ContextReading, readContext } from './context.ts'
import type { DruidPlan, RowFormat } from './druid-plan.ts'
import { type JsonNode, type JsonObject, plainOf } from './json.ts'
import { isAbsent, queryFlag, textOf, wholeNumber } from './lenient.ts'
import { readDataSource, refuseOutsideData, tableText } from './native-source.ts'
import { type Bypass, invalid, notDecomposable } from './reasons.ts'

export interface NativeQuery
  extends Pick<DruidPlan, 'sources' | 'format' | 'isDescending' | 'limit' | 'queryId' | 'terms'> {
  /** Canonical, without intervals and whatever else does not belong to the question. */
  readonly text: string
  /** As in the query, for the construction of the grid. */
  readonly granularity: unknown
  /** The position of the limit, and the text for no limit there; undefined where there is none. */
  readonly limitAt: LimitPlace | undefined
}

export interface LimitPlace {
  readonly node: JsonNode
  readonly none: string
  /** A bucket has many rows: without the limit there may be far more of them. */
  readonly isOfRows: boolean
}

type Members = ReadonlyMap<string, JsonNode>

const maxLimit = 2 ** 31 - 1

const missing = (name: string): Bypass => ({ bypass: 'missing_parameter', detail: `no ${name}` })

export function readNative(query: JsonObject, ignored?: readonly string[]): NativeQuery | Bypass {
  const { members } = query
  const type = members.get('queryType')
  const [dataSource, granularity] = [members.get('dataSource'), members.get('granularity')]
  if (isAbsent(type)) return missing('queryType')
  const readOrder = decomposable.get(textOf(type) ?? '')
  if (readOrder === undefined) {
    return {
      bypass: 'other_query_type',
      detail: textOf(type)?.slice(0, 40) ?? 'a queryType that is not a name',
    }
  }
  if (isAbsent(dataSource)) return missing('dataSource')
  if (isAbsent(granularity)) return missing('granularity')
  if (isWithoutBuckets(granularity)) return { bypass: 'no_time_grouping', detail: 'granularity all or none' }
  const sources = readDataSource(dataSource)
  if ('bypass' in sources) return sources
  const context = readContext(members.get('context'), ignored)
  if ('bypass' in context) return context
  const order = readOrder(members, context)
  if ('bypass' in order) return order
  const refusal = refuseOutsideData(query)
  if (refusal !== undefined) return refusal
  return {
    text: questionOf(query, context, order),
    sources,
    granularity: plainOf(granularity),
    ...order,
    queryId: queryIdOf(members.get('context')),
    terms: context.terms,
  }
}

/** None has buckets of a millisecond, too many to keep apart. */
const isWithoutBuckets = (granularity: JsonNode): boolean =>
  ['all', 'none'].includes(granularityName(granularity) ?? '')

/** Its own name, or that of its type. */
export const granularityName = (node: JsonNode): string | undefined =>
  textOf(node.kind === 'object' ? node.members.get('type') : node)?.toLowerCase()

/** How rows come and are written. */
type Order = Pick<NativeQuery, 'format' | 'isDescending' | 'limit' | 'limitAt'>
type ReadOrder = (members: Members, context: ContextReading) => Order | Bypass

const objectRows: RowFormat = { container: 'list', row: 'object', time: 'timestamp', headerRows: 0, end: '' }
const arrayRows: RowFormat = { container: 'list', row: 'array', time: 0, headerRows: 0, end: '' }
const unlimited = { limit: Number.POSITIVE_INFINITY, limitAt: undefined }
const ascending: Order = { format: objectRows, isDescending: false, ...unlimited }

const decomposable: ReadonlyMap<string, ReadOrder> = new Map<string, ReadOrder>([
  ['timeseries', readTimeseries],
  ['groupBy', readGroupBy],
  // Its threshold holds for each bucket.
  ['topN', () => ascending],
])

function readTimeseries(members: Members): Order | Bypass {
  const isDescending = queryFlag(members.get('descending'))
  if (isDescending === undefined) return invalid('descending: neither true nor false')
  const limited = readLimit(members.get('limit'), '0')
  return 'bypass' in limited ? limited : { format: objectRows, isDescending, ...limited }
}

type Limited = Pick<NativeQuery, 'limit' | 'limitAt'>

/** `none`: the text of a query without a limit. */
function readLimit(node: JsonNode | undefined, none: string): Limited | Bypass {
  if (isAbsent(node)) return unlimited
  const limit = wholeNumber(node)
  if (limit === undefined || limit > maxLimit) return invalid('limit: not a whole number that Druid takes')
  // The largest number is none everywhere.
  return limit === maxLimit || String(limit) === none
    ? unlimited
    : { limit, limitAt: { node, none, isOfRows: none === 'null' } }
}

function readGroupBy(members: Members, { kept }: ContextReading): Order | Bypass {
  if (!isAbsent(members.get('subtotalsSpec'))) return notDecomposable('subtotalsSpec')
  const limited = readLimitSpec(members.get('limitSpec'))
  if ('bypass' in limited) return limited
  if (limited.limitAt !== undefined && !['false', 'null'].includes(kept.get('forceLimitPushDown') ?? 'null'))
    return { bypass: 'limit', detail: 'forceLimitPushDown: each server cuts before all have answered' }
  for (const key of kept.keys()) {
    if (key.startsWith('timestampResultField')) return notDecomposable(key.slice(0, 60))
  }
  if (!['"v2"', 'null'].includes(kept.get('groupByStrategy') ?? 'null')) {
    return notDecomposable('a groupByStrategy other than v2')
  }
  const format = kept.get('resultAsArray') === 'true' ? arrayRows : objectRows
  return { format, isDescending: false, ...limited }
}

/** Columns order the rows of each bucket; limit and offset count through all of them, the oldest bucket first. */
function readLimitSpec(node: JsonNode | undefined): Limited | Bypass {
  if (isAbsent(node)) return unlimited
  if (node.kind !== 'object') return invalid('limitSpec is not an object')
  const [limit, offset, columns] = ['limit', 'offset', 'columns'].map((name) => node.members.get(name))
  // Another type may mean something else by it, or nothing.
  if (!isAbsent(limit) && textOf(node.members.get('type')) !== 'default')
    return { bypass: 'limit', detail: 'a limit in a limitSpec that is not of type default' }
  if (!isAbsent(limit) && wholeNumber(limit) === 0) return invalid('limitSpec.limit: 0, which Druid refuses')
  if (!isAbsent(offset) && wholeNumber(offset) !== 0) return { bypass: 'limit', detail: 'limitSpec.offset' }
  if (isAbsent(columns)) return readLimit(limit, 'null')
  if (columns.kind !== 'array') return invalid('limitSpec.columns is not a list')
  const isByTime = columns.items.some((column) => columnName(column) === '__time')
  return isByTime ? notDecomposable('limitSpec: rows ordered by __time') : readLimit(limit, 'null')
}

const columnName = (column: JsonNode): string | undefined =>
  textOf(column.kind === 'object' ? column.members.get('dimension') : column)

export function queryIdOf(context: JsonNode | undefined): string | undefined {
  return context?.kind === 'object' ? textOf(context.members.get('queryId')) : undefined
}

/** Forms that Druid reads alike become one, in the members that are understood here. */
export function questionMembers(query: JsonObject, { kept }: ContextReading): Map<string, string> {
  const texts = canonicalMembers(query)
  set(texts, 'context', kept.size === 0 ? undefined : canonicalObject(kept))
  const dataSource = query.members.get('dataSource')!
  texts.set('dataSource', tableText(dataSource) ?? texts.get('dataSource')!)
  const granularity = textOf(query.members.get('granularity'))
  if (granularity !== undefined) texts.set('granularity', JSON.stringify(granularity.toLowerCase()))
  return texts
}

function questionOf(query: JsonObject, context: ContextReading, { isDescending, limit }: Order): string {
  const texts = questionMembers(query, context)
  texts.delete('intervals')
  if (texts.get('queryType') !== '"timeseries"') return canonicalObject(texts)
  set(texts, 'descending', isDescending ? 'true' : undefined)
  set(texts, 'limit', Number.isFinite(limit) ? String(limit) : undefined)
  return canonicalObject(texts)
}

function set(texts: Map<string, string>, name: string, text: string | undefined): void {
  if (text === undefined) texts.delete(name)
  else texts.set(name, text)
}
