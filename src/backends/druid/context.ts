/**
 * The context of a query: which keys belong to the question, which do not, and which forbid cutting its answer.
 * Whatever is not named here belongs to the question.
 */
import { canonicalText } from './canonical.ts'
import type { JsonNode } from './json.ts'
import { contextFlag, isAbsent, textOf, wholeNumber } from './lenient.ts'
import { type Bypass, invalid, notDecomposable } from './reasons.ts'
import { wordSet } from './sql-tokens.ts'

export interface ContextReading {
  /** The part of the shape: canonical texts by key. */
  readonly kept: ReadonlyMap<string, string>
  /** The keys that can make one execution fail, as text. */
  readonly terms: string
}

/** Whether Druid accepts a value: a request that Druid would refuse must be refused also where the answer is stored. */
type Accepts = (node: JsonNode) => boolean

const text: Accepts = (node) => node.kind === 'text'
/** Answers name it in a header, and Druid writes characters that no header can carry in ways of its own. */
const id: Accepts = (node) => node.kind === 'text' && /^[\t\x20-\x7e\xa0-\xff]*$/.test(node.value)
const flag: Accepts = (node) => contextFlag(node) !== undefined
const count: Accepts = (node) => wholeNumber(node) !== undefined
/** As a string it may have no fraction. */
const number: Accepts = (node) =>
  node.kind === 'number'
    ? /^-?\d{1,15}(?:\.\d{1,15})?$/.test(node.text)
    : /^-?\d{1,15}$/.test(textOf(node) ?? '')
const countOr =
  (words: RegExp): Accepts =>
  (node) =>
    count(node) || words.test(textOf(node) ?? '')

const named = (accepts: Accepts, names: string): [string, Accepts][] =>
  names.split(' ').map((name) => [name, accepts])

/** Names of executions, and Druid's own caches: they change nothing, and fail nothing. */
const incidental = new Map<string, Accepts>([
  ...named(id, 'queryId subQueryId sqlQueryId dartQueryId'),
  ...named(flag, 'useCache populateCache useResultLevelCache populateResultLevelCache debug'),
])

/**
 * How a query is executed. Its answer stays, but it may fail: too late, too large, not possible in this way. `vectorize` is not
 * among them: without it a sketch that is not finalized is null in an empty bucket, with it an empty sketch.
 */
const conditions = new Map<string, Accepts>([
  ...named(
    count,
    'timeout perSegmentTimeout defaultTimeout maxScatterGatherBytes maxQueuedBytes maxSubqueryRows',
  ),
  ...named(text, 'lane'),
  ...named(
    flag,
    'enableParallelMerge setProcessingThreadNames useFilterCNF secondaryPartitionPruning cursorAutoArrangeFilters ' +
      'optimizeAggregators enableJoinFilterPushDown enableJoinFilterRewrite enableRewriteJoinToFilter ' +
      'enableJoinFilterRewriteValueColumnFilters forceHashAggregation mergeThreadLocal groupByIsSingleThreaded',
  ),
  ...named(
    number,
    'priority vectorSize parallelMergeInitialYieldRows parallelMergeSmallBatchRows parallelMergeParallelism ' +
      'joinFilterRewriteMaxSize bufferGrouperMaxSize bufferGrouperInitialBuckets bufferGrouperMaxLoadFactor ' +
      'maxSpillFileCount minSpillFileSize numParallelCombineThreads intermediateCombineDegree',
  ),
  ...named(countOr(/^(?:auto|disabled)$/i), 'maxSubqueryBytes'),
  ...named(
    countOr(/^\d{1,15}[kmgtp](?:i?b)?$/i),
    'maxMergingDictionarySize maxSelectorDictionarySize maxOnDiskStorage',
  ),
  ...named(
    (node) => /^(?:fixedWidth|fixedWidthNonNumeric|singleString|always)$/.test(textOf(node) ?? ''),
    'deferExpressionDimensions',
  ),
])

/** Flags that belong to the question, which Druid reads also from strings. */
const keptFlags = wordSet(
  'skipEmptyBuckets resultAsArray serializeDateTimeAsLong serializeDateTimeAsLongInner finalize',
)

/** Flags that, when set, give an answer that is not made of buckets, or not of whole truth. */
const refusedFlags: ReadonlyMap<string, Bypass> = new Map([
  ['bySegment', notDecomposable('bySegment')],
  ['grandTotal', notDecomposable('grandTotal')],
  ['sortByDimsFirst', notDecomposable('sortByDimsFirst: rows are not in time order')],
  [
    'mergeRunnersUsingChainedExecution',
    notDecomposable('mergeRunnersUsingChainedExecution: rows in no certain order'),
  ],
  ['returnPartialResults', { bypass: 'partial_results', detail: 'returnPartialResults' }],
])

/** Keys that do so with any value. */
const refusedKeys: ReadonlyMap<string, Bypass> = new Map([
  ['uncoveredIntervalsLimit', { bypass: 'partial_results', detail: 'uncoveredIntervalsLimit' }],
  ['fudgeTimestamp', { bypass: 'partial_results', detail: 'fudgeTimestamp' }],
  ['executionMode', { bypass: 'partial_results', detail: 'executionMode' }],
  ['If-None-Match', notDecomposable('an entity tag is that of one whole answer')],
])

/** Reads the value of `context`. Keys in `ignored` are the operator's word that they change nothing. */
export function readContext(
  node: JsonNode | undefined,
  ignored: readonly string[] = [],
): ContextReading | Bypass {
  if (isAbsent(node)) return { kept: new Map(), terms: '' }
  if (node.kind !== 'object') return invalid('context is not an object')
  const kept = new Map<string, string>()
  const terms: string[] = []
  for (const [key, value] of node.members) {
    const refusal = refuse(key, value)
    if (refusal !== undefined) return refusal
    if (ignored.includes(key) || incidental.has(key)) continue
    if (!conditions.has(key)) kept.set(key, printed(key, value))
    else if (!isAbsent(value)) terms.push(`${key}=${canonicalText(value)}`)
  }
  return { kept, terms: terms.sort().join(' ') }
}

function refuse(key: string, value: JsonNode): Bypass | undefined {
  if (isAbsent(value)) return undefined
  if (contextFlag(value) === true && refusedFlags.has(key)) return refusedFlags.get(key)
  const accepts = incidental.get(key) ?? conditions.get(key)
  if (accepts === undefined || accepts(value)) return refusedKeys.get(key)
  return invalid(`context: a value for ${key} that Druid may refuse`)
}

/** Null leaves a flag at Druid's default, and that need not be false. */
const printed = (key: string, value: JsonNode): string =>
  keptFlags.has(key) && !isAbsent(value) && flag(value) ? String(contextFlag(value)) : canonicalText(value)
