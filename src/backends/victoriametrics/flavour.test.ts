import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flavour } from './flavour.ts'

const info = (data: unknown): string => JSON.stringify({ status: 'success', data })

test('a server that reports only a version of Prometheus 2 is VictoriaMetrics', () => {
  // As a real server reports it, single or in a cluster.
  const read = flavour.read(200, '{"status":"success","data":{"version":"2.24.0"}}')
  assert.deepEqual(read, { isKnown: true, label: 'VictoriaMetrics' })
})

const others: Record<string, readonly [status: number, body: string]> = {
  Prometheus: [200, info({ version: '2.53.1', revision: 'abc', branch: 'HEAD', goVersion: 'go1.25.1' })],
  'Prometheus without a revision': [200, info({ version: '2.53.1', goVersion: 'go1.25.1' })],
  Mimir: [200, info({ version: '2.14.0', application: 'Grafana Mimir' })],
  'an empty version': [200, info({ version: '' })],
  'a version of another count': [200, info({ version: '0.36.1' })],
  'no version': [200, info({})],
  'an error': [404, info({ version: '2.24.0' })],
  'no JSON': [200, '<html>'],
}
for (const [name, [status, body]] of Object.entries(others)) {
  test(`not VictoriaMetrics: ${name}`, () => {
    assert.equal(flavour.read(status, body).isKnown, false)
  })
}
