import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ContextReading, readContext } from './context.ts'
import { readJson } from './json.ts'
import type { Bypass } from './reasons.ts'

function reading(context: unknown, ignored: readonly string[] = []): ContextReading | Bypass {
  const node = readJson(JSON.stringify(context))
  assert.ok(!('bypass' in node))
  return readContext(node, ignored)
}

function kept(context: unknown, ignored: readonly string[] = []): Record<string, string> {
  const result = reading(context, ignored)
  assert.ok(!('bypass' in result), JSON.stringify(result))
  return Object.fromEntries(result.kept)
}

function reasonOf(context: unknown): string | undefined {
  const result = reading(context)
  return 'bypass' in result ? result.bypass : undefined
}

test('no context, null and an empty one are the same', () => {
  const nothing = { kept: new Map(), terms: '' }
  assert.deepEqual(readContext(undefined), nothing)
  assert.deepEqual(reading(null), nothing)
  assert.deepEqual(reading({}), nothing)
})

test('names of an execution, and Druid’s caches, belong neither to the shape nor to its terms', () => {
  const context = { queryId: 'a', sqlQueryId: 'b', useCache: false, populateResultLevelCache: 'true' }
  assert.deepEqual(reading(context), { kept: new Map(), terms: '' })
})

test('keys that can make an execution fail are separate from the shape', () => {
  const result = reading({
    useFilterCNF: true,
    timeout: 5000,
    lane: 'low',
    priority: -1,
    skipEmptyBuckets: true,
  })
  assert.ok(!('bypass' in result))
  assert.equal(result.terms, 'lane="low" priority=-1 timeout=5000 useFilterCNF=true')
  assert.deepEqual([...result.kept], [['skipEmptyBuckets', 'true']])
})

test('vectorize belongs to the shape: it changes empty buckets', () => {
  assert.deepEqual(kept({ vectorize: false, vectorizeVirtualColumns: 'force' }), {
    vectorize: 'false',
    vectorizeVirtualColumns: '"force"',
  })
})

test('unknown keys belong to the shape, unless the operator lists them', () => {
  assert.deepEqual(kept({ team: 'a', brokerService: 'x' }), { team: '"a"', brokerService: '"x"' })
  assert.deepEqual(kept({ team: 'a', user: 'b' }, ['team']), { user: '"b"' })
})

test('flags that Druid reads from strings are the same as booleans; other values stay as they are', () => {
  assert.deepEqual(kept({ skipEmptyBuckets: 'TRUE', finalize: 'x' }), {
    skipEmptyBuckets: 'true',
    finalize: 'false',
  })
  assert.deepEqual(kept({ team: 'TRUE' }), { team: '"TRUE"' })
  assert.deepEqual(kept({ finalize: null, serializeDateTimeAsLongInner: null }), {
    finalize: 'null',
    serializeDateTimeAsLongInner: 'null',
  })
  assert.deepEqual(kept({ grandTotal: false }), { grandTotal: 'false' })
})

const refused: readonly (readonly [context: object, reason: string])[] = [
  [{ bySegment: true }, 'not_decomposable'],
  [{ bySegment: 'true' }, 'not_decomposable'],
  [{ grandTotal: 'True' }, 'not_decomposable'],
  [{ sortByDimsFirst: true }, 'not_decomposable'],
  [{ mergeRunnersUsingChainedExecution: true }, 'not_decomposable'],
  [{ 'If-None-Match': 'x' }, 'not_decomposable'],
  [{ returnPartialResults: true }, 'partial_results'],
  [{ uncoveredIntervalsLimit: 10 }, 'partial_results'],
  [{ fudgeTimestamp: '0' }, 'partial_results'],
  [{ executionMode: 'ASYNC' }, 'partial_results'],
  // Druid refuses these, and must do so although the answer is stored.
  [{ timeout: -1 }, 'invalid_parameter'],
  [{ timeout: 'soon' }, 'invalid_parameter'],
  [{ timeout: 1.5 }, 'invalid_parameter'],
  [{ queryId: 5 }, 'invalid_parameter'],
  // No header can carry them as they are.
  [{ queryId: 'a\r\nX-Other: 1' }, 'invalid_parameter'],
  [{ queryId: 'a\u0000' }, 'invalid_parameter'],
  [{ sqlQueryId: '€' }, 'invalid_parameter'],
  [{ useCache: 1 }, 'invalid_parameter'],
  [{ priority: {} }, 'invalid_parameter'],
  [{ priority: 'x' }, 'invalid_parameter'],
  [{ maxScatterGatherBytes: '1GiB' }, 'invalid_parameter'],
  [{ lane: 5 }, 'invalid_parameter'],
  [{ priority: '1.5' }, 'invalid_parameter'],
  [{ maxSubqueryBytes: 'foo' }, 'invalid_parameter'],
  [{ maxSubqueryBytes: '1GiB' }, 'invalid_parameter'],
  [{ maxSubqueryBytes: true }, 'invalid_parameter'],
  [{ maxOnDiskStorage: '100 MiB' }, 'invalid_parameter'],
  [{ maxMergingDictionarySize: 1.5 }, 'invalid_parameter'],
  [{ deferExpressionDimensions: 'FIXED_WIDTH' }, 'invalid_parameter'],
]

for (const [context, reason] of refused) {
  test(`${JSON.stringify(context)} is passed on`, () => assert.equal(reasonOf(context), reason))
}

test('sizes may be words, or have units, where Druid knows them', () => {
  assert.equal(reasonOf({ maxSubqueryBytes: 'AUTO', maxOnDiskStorage: '100MiB' }), undefined)
  assert.equal(reasonOf({ maxSubqueryBytes: 'disabled', maxSelectorDictionarySize: '1g' }), undefined)
  assert.equal(
    reasonOf({ maxSubqueryBytes: 5, deferExpressionDimensions: 'always', priority: 1.5 }),
    undefined,
  )
})

test('a refused key counts although the operator ignores it', () => {
  assert.ok('bypass' in reading({ bySegment: true }, ['bySegment']))
})

test('flags that are off, and null for anything, refuse nothing', () => {
  const off = { bySegment: false, grandTotal: 'no', returnPartialResults: 'false' }
  assert.equal(reasonOf(off), undefined)
  assert.equal(reasonOf({ timeout: null, queryId: null, fudgeTimestamp: null, bySegment: null }), undefined)
})

test('a context that is no object is for Druid to refuse', () => {
  for (const context of [[], '', 5, true]) assert.equal(reasonOf(context), 'invalid_parameter')
})
