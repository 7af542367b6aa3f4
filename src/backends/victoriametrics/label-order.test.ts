import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexRank, orderOf } from './label-order.ts'

const rank = (...labels: readonly string[]): Buffer => Buffer.from(labels.map((each) => `${each}\0`).join(''))

test('behind the metric name, job-like and instance-like labels come first', () => {
  const given = rank('__name__', 'x', 'Host', '1', 'a', '2', 'job', '3', 'namespace', '4', 'z', '5')
  const expected = rank('__name__', 'x', 'namespace', '4', 'job', '3', 'Host', '1', 'a', '2', 'z', '5')
  assert.deepEqual(indexRank(given), expected)
  assert.deepEqual(indexRank(rank('a', '1', 'b', '2')), rank('a', '1', 'b', '2'))
  assert.deepEqual(indexRank(rank()), rank())
})

test('two labels with one place have no known order', () => {
  assert.equal(indexRank(rank('Job', '1', 'job', '2')), undefined)
  assert.equal(indexRank(rank('SensorType', '1', 'sensor_type', '2')), undefined)
})

const orders: Record<string, ReturnType<typeof orderOf>> = {
  'x[5m]': 'index',
  '(x[5m] offset 1h)': 'index',
  'abs(-last_over_time(x[5m] @ 5))': 'index',
  'quantile_over_time(0.5, x[5m])': 'index',
  '1 - x[5m] * time()': 'index',
  'x[5m] > y[5m]': 'index',
  'sum(x[5m])': 'names',
  'max_over_time(sum by (a) (x[5m])[5m:1m])': 'names',
  'sum(x[5m]) / count(y[5m]) > 2': 'names',
  'absent(x[5m])': 'single',
  'time() + pi()': 'single',
  'sum(x[5m]) / x[5m]': undefined,
}
for (const [text, order] of Object.entries(orders)) {
  test(`order of ${text}: ${order}`, () => assert.equal(orderOf(text), order))
}
