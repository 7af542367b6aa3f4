import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFamilyMember } from '../../../test/rigs/family-suite.ts'
import { getRange } from '../../../test/rigs/range-requests.ts'
import { flavour } from './flavour.ts'
import { cortex } from './index.ts'

const backend = cortex({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })

testFamilyMember({
  backend,
  headers: ['x-scope-orgid', 'x-promql-enginetype'],
})

test('instants have as many decimals as they need', () => {
  const query = backend.parse(getRange('query=up&start=1600000000.5&end=1600000001.5&step=0.5'))
  assert.ok(query !== undefined && !('bypass' in query))
  const plan = backend.plan(query, 1_800_000_000_000)
  assert.ok(!('bypass' in plan))
  const sink = backend.decompose(plan, [plan.window])
  const points = '[1600000000.5,"1"],[1600000001,"2"],[1600000001.5,"3"]'
  const series = `{"metric":{"a":"b"},"values":[${points}]}`
  sink.write(Buffer.from(`{"status":"success","data":{"resultType":"matrix","result":[${series}]}}`))
  assert.ok('panes' in sink.end(1_800_000_000_000, { headers: [], trailers: [] }))
})

const info = (data: unknown): string => JSON.stringify({ status: 'success', data })

test('build info in the form of Prometheus with a version 1 is that of Cortex', () => {
  const told = {
    version: '1.20.1',
    revision: 'a',
    branch: '',
    buildUser: '',
    buildDate: '',
    goVersion: 'go1.26',
  }
  assert.deepEqual(flavour.read(200, info(told)), { isKnown: true, label: 'Cortex 1.20.1' })
})

const others: Record<string, readonly [status: number, body: string]> = {
  Prometheus: [200, info({ version: '3.5.0', revision: 'abc', goVersion: 'go1.25.1' })],
  Thanos: [200, info({ version: '0.42.4', revision: 'abc', goVersion: 'go1.25.1' })],
  Mimir: [200, info({ version: '1.0.0', application: 'Grafana Mimir', goVersion: 'go1.25.1' })],
  VictoriaMetrics: [200, info({ version: '2.24.0' })],
  'an empty version': [200, info({ version: '', goVersion: 'go1.25.1' })],
  'an error': [404, ''],
}
for (const [name, [status, body]] of Object.entries(others)) {
  test(`not Cortex: ${name}`, () => {
    assert.equal(flavour.read(status, body).isKnown, false)
  })
}
