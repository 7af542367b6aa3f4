import assert from 'node:assert/strict'
import test from 'node:test'
import { newDecision, resetDecision } from '../../core/decision.ts'
import { headerOf } from '../../core/headers.ts'
import { cacheStatus, endToEnd, serverTiming } from './headers.ts'

test('the lines of one header are one list', () => {
  const headers = ['Via', 'a', 'other', 'x', 'via', 'b']
  assert.equal(headerOf(headers, 'via'), 'a, b')
  assert.equal(headerOf(headers, 'none'), undefined)
  assert.equal(headerOf(['empty', ''], 'empty'), '')
})

test('headers of the connection, those it names and those to be dropped go; order and spelling stay', () => {
  const headers = [
    'B',
    '1',
    'Connection',
    'close, X-A',
    'a',
    '2',
    'x-a',
    '3',
    'TE',
    'gzip',
    'Drop',
    '4',
    'B',
    '5',
  ]
  assert.deepEqual(endToEnd(headers, new Set(['drop'])), ['B', '1', 'a', '2', 'B', '5'])
})

test('whatever a detail contains, it is a string that needs no escape, and short', () => {
  const text = cacheStatus({
    ...newDecision(),
    reason: 'internal',
    detail: `"\\\n\u0000ä${'x'.repeat(1000)}`,
  })
  assert.match(text, /^windowpane; fwd=miss; detail="error\/internal \(\?{5}x+\)"$/)
  assert.ok(text.length < 300)
})

test('a refusal was neither a hit nor forwarded', () => {
  const text = cacheStatus({ ...newDecision(), outcome: 'refused', reason: 'loop' })
  assert.equal(text, 'windowpane; detail="refused/loop"')
})

for (const [outcome, reason, fwd] of [
  ['miss', 'absent', 'miss'],
  ['miss', 'expired', 'stale'],
  ['miss', 'revalidate', 'request'],
  ['partial', 'expired', 'partial'],
  ['bypass', 'no_store', 'bypass'],
  ['error', 'database_error', 'miss'],
] as const) {
  test(`${outcome}/${reason} was forwarded because: ${fwd}`, () => {
    const text = cacheStatus({ ...newDecision(), outcome, reason })
    assert.equal(text, `windowpane; fwd=${fwd}; detail="${outcome}/${reason}"`)
  })
}

test('timings are rounded to microseconds and never in exponents', () => {
  const decision = { ...newDecision(), timings: { plan: 1e-9, lookup: 0.12345, fetch: 1234.5 } }
  assert.equal(serverTiming(decision, 2), 'plan;dur=0, lookup;dur=0.123, fetch;dur=1234.500, total;dur=2')
})

test('opt-in exceptions are named, also after another try', () => {
  const decision = { ...newDecision(), exceptions: ['assume.mergedLabels', 'align'] }
  resetDecision(decision)
  const text = cacheStatus({ ...decision, outcome: 'hit', ttlSeconds: 5, buckets: 2 })
  assert.equal(text, 'windowpane; hit; ttl=5; detail="hit buckets=2 exceptions=assume.mergedLabels,align"')
})
