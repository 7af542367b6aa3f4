import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFamilyMember } from '../../testing/family-suite.ts'
import { flavour } from './flavour.ts'
import { cortex } from './index.ts'

testFamilyMember({
  backend: cortex({ settledAgeMs: 86_400_000, maxBuckets: 11_001 }),
  headers: ['x-scope-orgid', 'x-promql-enginetype'],
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
