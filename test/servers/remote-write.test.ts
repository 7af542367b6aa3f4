import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isUnavailable, skipReason } from './availability.ts'
import { startPrometheus } from './prometheus.ts'
import { type Matrix, rangeMatrix } from './query.ts'
import {
  type NativeHistogram,
  remoteWrite,
  type Sample,
  type SampleValue,
  STALE,
  STALE_HISTOGRAM,
} from './remote-write.ts'

const T0 = Date.parse('2026-01-15T12:00:00Z')
const STEP = 15_000

const outcome = await startPrometheus({ outOfOrderWindow: '1h' })
const skip = skipReason(outcome)
after(() => (isUnavailable(outcome) ? undefined : outcome.stop()))

function url(): string {
  assert.ok(!isUnavailable(outcome))
  return outcome.url
}

/** Writes one value per step from T0 on; null leaves a step out. */
function write(name: string, values: readonly (SampleValue | null)[], labels = {}): Promise<void> {
  const samples = values.flatMap((value, index): Sample[] =>
    value === null ? [] : [{ t: T0 + index * STEP, value }],
  )
  return remoteWrite(url(), [{ labels: { ...labels, __name__: name }, samples }])
}

async function read(query: string, steps: number): Promise<Matrix | undefined> {
  const end = T0 + (steps - 1) * STEP
  const result = await rangeMatrix(url(), { query, start: T0, end, stepMs: STEP })
  assert.ok(result.length <= 1)
  return result[0]
}

test('floats come back as written', { skip }, async () => {
  const values = [0, -0, 1.5, 1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  await write('floats', values)
  const seen = (await read('floats', values.length))?.values?.map(([, value]) => value)
  assert.deepEqual(seen, ['0', '-0', '1.5', '1e+21', '1e-07', 'NaN', '+Inf', '-Inf'])
})

test('times may be bigints', { skip }, async () => {
  await remoteWrite(url(), [{ labels: { __name__: 'big' }, samples: [{ t: BigInt(T0), value: 7 }] }])
  assert.deepEqual((await read('big', 1))?.values, [[T0 / 1000, '7']])
})

test('a request larger than one snappy literal arrives', { skip }, async () => {
  await write('large', [1], { padding: 'p'.repeat(200_000) })
  assert.equal((await read('large', 1))?.metric['padding']?.length, 200_000)
})

test('labels are sorted for the protocol, whatever their case', { skip }, async () => {
  const labels = { zone: 'z', Zone: 'Z', _a: 'u', ä: 'umlaut', '🎉': 'beyond' }
  await write('sorted', [1], labels)
  assert.deepEqual((await read('sorted', 1))?.metric, { __name__: 'sorted', ...labels })
})

test('a staleness marker ends a series, silence does so only after the lookback', { skip }, async () => {
  await write('marked', [1, 2, STALE, null, 3])
  await write('silent', [1, 2])
  const times = (await read('marked', 6))?.values?.map(([t]) => t - T0 / 1000)
  assert.deepEqual(times, [0, 15, 60, 75])
  // Two samples, then seen for less than 5 min after the last one.
  assert.equal((await read('silent', 40))?.values?.length, 21)
})

const INTEGERS: NativeHistogram = {
  schema: 0,
  count: 9,
  sum: 12.5,
  zeroCount: 1,
  zeroThreshold: 0.001,
  positiveSpans: [
    { offset: 0, length: 2 },
    { offset: 1, length: 1 },
  ],
  positiveDeltas: [2, 1, -1],
  negativeSpans: [{ offset: 0, length: 1 }],
  negativeDeltas: [1],
}

test('a native histogram of integers comes back with its buckets', { skip }, async () => {
  await write('integers', [INTEGERS])
  const histogram = (await read('integers', 1))?.histograms?.[0]?.[1]
  assert.deepEqual(histogram, {
    count: '9',
    sum: '12.5',
    buckets: [
      [1, '-1', '-0.5', '1'],
      [3, '-0.001', '0.001', '1'],
      [0, '0.5', '1', '2'],
      [0, '1', '2', '3'],
      [0, '4', '8', '2'],
    ],
  })
})

test('a native histogram of floats comes back with its buckets', { skip }, async () => {
  const floats: NativeHistogram = {
    schema: 0,
    floatCount: 2.75,
    sum: -1,
    floatZeroCount: 0.25,
    positiveSpans: [{ offset: 1, length: 1 }],
    positiveCounts: [2.5],
    isGauge: true,
  }
  await write('fractions', [floats])
  const histogram = (await read('fractions', 1))?.histograms?.[0]?.[1]
  assert.deepEqual(histogram, {
    count: '2.75',
    sum: '-1',
    buckets: [
      [3, '-0', '0', '0.25'],
      [0, '1', '2', '2.5'],
    ],
  })
})

test('a staleness marker ends a series of histograms', { skip }, async () => {
  await write('ended', [INTEGERS, STALE_HISTOGRAM])
  assert.deepEqual(
    (await read('ended', 4))?.histograms?.map(([t]) => t),
    [T0 / 1000],
  )
})

test('late samples are taken within the window', { skip }, async () => {
  await write('late', [null, null, 3])
  await write('late', [1])
  const seen = (await read('late', 3))?.values?.map(([, value]) => value)
  assert.deepEqual(seen, ['1', '1', '3'])
})

test('a refusal of Prometheus is an error with its reason', { skip }, async () => {
  await write('twice', [1])
  await assert.rejects(write('twice', [2]), /remote write: 400 .*duplicate/)
})
