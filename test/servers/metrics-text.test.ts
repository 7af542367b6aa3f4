import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumMetric } from './metrics-text.ts'

const TEXT = `# TYPE hits_total counter
hits_total{path="/a",code="200"} 3
hits_total{path="/b \\"x\\"",code="200"} 4
hits_total{path="/a",code="500"} 1e+06
hits_total_other 9
idle 0
`

test('values are summed over the label sets that match', () => {
  assert.equal(sumMetric(TEXT, 'hits_total'), 1_000_007)
  assert.equal(sumMetric(TEXT, 'hits_total', { code: '200' }), 7)
  assert.equal(sumMetric(TEXT, 'hits_total', { code: '200', path: '/a' }), 3)
  assert.equal(sumMetric(TEXT, 'hits_total', { code: '404' }), 0)
  assert.equal(sumMetric(TEXT, 'idle'), 0)
})

test('a name that is not there is an error, not a zero', () => {
  assert.throws(() => sumMetric(TEXT, 'hits'), /no metric hits/)
})
