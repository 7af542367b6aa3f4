import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock } from '../testing/fake-clock.ts'
import { formatTraceparent, newSpanId, newTraceId, parseTraceparent } from './trace-context.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test('a traceparent is read, and written as it was', () => {
  for (const [flags, isSampled] of [
    ['00', false],
    ['01', true],
  ] as const) {
    const text = `00-${traceId}-${spanId}-${flags}`
    assert.deepEqual(parseTraceparent(text), { traceId, spanId, isSampled })
    assert.equal(formatTraceparent({ traceId, spanId, isSampled }), text)
  }
})

test('other flags do not matter, and a later version may be longer', () => {
  assert.equal(parseTraceparent(`00-${traceId}-${spanId}-03`)?.isSampled, true)
  assert.equal(parseTraceparent(`00-${traceId}-${spanId}-02`)?.isSampled, false)
  assert.deepEqual(parseTraceparent(`cc-${traceId}-${spanId}-01-what-is-to-come`), {
    traceId,
    spanId,
    isSampled: true,
  })
})

for (const [name, text] of [
  ['nothing', ''],
  ['an unknown version that is none', `ff-${traceId}-${spanId}-01`],
  ['this version, but longer', `00-${traceId}-${spanId}-01-more`],
  ['no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['no span', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['a short trace', `00-${traceId.slice(1)}-${spanId}-01`],
  ['no flags', `00-${traceId}-${spanId}`],
  ['two of them', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ['a later version without a dash', `cc-${traceId}-${spanId}-01more`],
  ['very much', `00-${traceId}-${spanId}-${'01'.repeat(10_000)}`],
] as const) {
  test(`not a traceparent: ${name}`, () => assert.equal(parseTraceparent(text), undefined))
}

test('ids have their length, are not all zero and are not repeated', () => {
  const clock = fakeClock()
  const seen = new Set<string>()
  for (let i = 0; i < 1000; i++) {
    assert.match(newTraceId(clock), /^[0-9a-f]{32}$/)
    const id = newSpanId(clock)
    assert.match(id, /^[0-9a-f]{16}$/)
    seen.add(id)
  }
  assert.equal(seen.size, 1000)
  const extremes = [0, 1 - 2 ** -53].map((random) => newSpanId({ ...clock, random: () => random }))
  assert.deepEqual(extremes, ['0000000000000001', 'ffffffffffffffff'])
})
