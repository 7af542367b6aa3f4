/**
 * Native queries whose answers are cached as a whole: everything that the answer depends on, as one text, and its data
 * sources. Scans and searches are excluded: the order of their rows, and which of them come below a limit, is not
 * certain.
 */
import { canonicalObject, canonicalText } from './canonical.ts'
import { type ContextReading, readContext } from './context.ts'
import type { Span } from './druid-plan.ts'
import { printIntervals, readIntervals } from './intervals.ts'
import { type JsonNode, type JsonObject, readJsonObject } from './json.ts'
import { contextFlag, isAbsent, textOf } from './lenient.ts'
import { granularityName, queryIdOf, questionMembers } from './native-query.ts'
import { readDataSource, refuseOutsideData } from './native-source.ts'
import { nativePath } from './paths.ts'
import { type Bypass, notDecomposable } from './reasons.ts'
import { wordSet } from './sql-tokens.ts'
import { listEnding, spanOf, type WholeReading } from './whole-reading.ts'

type Members = ReadonlyMap<string, JsonNode>

/** By query type: the endpoint, and whether the query reads the rows of its intervals and nothing else. */
const types: ReadonlyMap<string, Pick<WholeReading, 'endpoint'> & { readonly isBounded: boolean }> = new Map([
  ['timeseries', { endpoint: 'totals', isBounded: true }],
  ['groupBy', { endpoint: 'totals', isBounded: true }],
  ['topN', { endpoint: 'topN', isBounded: true }],
  ['timeBoundary', { endpoint: 'timeBoundary', isBounded: false }],
  ['dataSourceMetadata', { endpoint: 'segmentMetadata', isBounded: false }],
  ['segmentMetadata', { endpoint: 'segmentMetadata', isBounded: false }],
])

export function readWholeNative(body: string, ignored?: readonly string[]): WholeReading | Bypass {
  const query = readJsonObject(body)
  if ('bypass' in query) return query
  const { members } = query
  const type = types.get(textOf(members.get('queryType')) ?? '')
  if (type === undefined) return { bypass: 'other_query_type', detail: 'a type whose answers are not kept' }
  if (type.isBounded && isWithoutRows(members)) return notDecomposable('granularity none, or none at all')
  if (hasJavaScript(query)) return notDecomposable('JavaScript')
  const sources = readSources(members.get('dataSource'))
  if ('bypass' in sources) return sources
  const context = readWholeContext(members.get('context'), ignored)
  if ('bypass' in context) return context
  const spans = readSpans(members, type.isBounded)
  if ('bypass' in spans) return spans
  const question = questionOf(query, context, spans)
  // A lookup changes without any change of the data: no witness can vouch for the answer.
  const isVouchable = type.isBounded && sources.knowsAllSources && refuseOutsideData(query) === undefined
  return {
    endpoint: type.endpoint,
    text: textWith(question, context),
    query: question,
    ...sources,
    ...(isVouchable && spanOf(spans)),
    ending: listEnding,
    queryId: queryIdOf(members.get('context')),
  }
}

/** Buckets of a millisecond are rows as they are stored. */
function isWithoutRows(members: Members): boolean {
  const granularity = members.get('granularity')
  return isAbsent(granularity) || granularityName(granularity) === 'none'
}

/** Scripts may read the time, or a random number. */
function hasJavaScript(node: JsonNode): boolean {
  if (node.kind === 'array') return node.items.some(hasJavaScript)
  if (node.kind !== 'object') return false
  return textOf(node.members.get('type')) === 'javascript' || [...node.members.values()].some(hasJavaScript)
}

/** Data sources that read others, or rows that are part of the request. Those of extensions may do anything. */
const nestedSources = wordSet('query join unnest lookup inline globalTable union filter')

type Sources = Pick<WholeReading, 'sources' | 'knowsAllSources'>

function readSources(node: JsonNode | undefined): Sources | Bypass {
  if (isAbsent(node)) return { bypass: 'missing_parameter', detail: 'no dataSource' }
  const names = readDataSource(node)
  if (!('bypass' in names)) return { sources: names, knowsAllSources: true }
  const type = node.kind === 'object' ? textOf(node.members.get('type')) : undefined
  return nestedSources.has(type ?? '') ? { sources: [], knowsAllSources: false } : names
}

/** Flags that only matter where an answer is cut into buckets. */
const wholeFlags = ['grandTotal', 'sortByDimsFirst']

function readWholeContext(node: JsonNode | undefined, ignored?: readonly string[]): ContextReading | Bypass {
  if (isAbsent(node) || node.kind !== 'object') return readContext(node, ignored)
  const others = new Map(node.members)
  for (const flag of wholeFlags) others.delete(flag)
  const reading = readContext({ ...node, members: others }, ignored)
  if ('bypass' in reading) return reading
  const kept = new Map(reading.kept)
  for (const flag of wholeFlags) {
    const value = node.members.get(flag)
    if (!isAbsent(value)) kept.set(flag, String(contextFlag(value) ?? canonicalText(value)))
  }
  return { ...reading, kept }
}

/** None where they are not there, or written in a way that is not read here. */
function readSpans(members: Members, isNeeded: boolean): readonly Span[] | Bypass {
  const intervals = members.get('intervals')
  if (isAbsent(intervals)) return isNeeded ? { bypass: 'missing_parameter', detail: 'no intervals' } : []
  const spans = readIntervals(intervals)
  return 'bypass' in spans && spans.bypass === 'invalid_parameter' ? [] : spans
}

/** Intervals that are the same instants are one text; whatever is not understood is part of the text as it was written. */
function questionOf(query: JsonObject, context: ContextReading, spans: readonly Span[]): string {
  const texts = questionMembers(query, context)
  if (spans.length > 0) texts.set('intervals', printIntervals(spans))
  return canonicalObject(texts)
}

const textWith = (question: string, { terms }: ContextReading): string =>
  `["${nativePath}",${question}${terms === '' ? '' : `,${JSON.stringify(terms)}`}]`
