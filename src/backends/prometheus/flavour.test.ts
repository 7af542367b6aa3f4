import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flavour } from './flavour.ts'

const info = (data: unknown): string => JSON.stringify({ status: 'success', data })
const revision = '8be3a9560fbdd18a94dedec4b747c35178177202'
const own = { version: '3.5.0', revision, branch: 'HEAD', goVersion: 'go1.25.1' }

test('the flavour is queried at the path of Prometheus’ build info', () => {
  assert.equal(flavour.path, '/api/v1/status/buildinfo')
})

test('Prometheus 2 and 3 are known', () => {
  for (const [version, revision] of [
    ['2.53.1', own.revision],
    ['3.0.0-rc.1', own.revision.slice(0, 9)],
    ['v3.14.0', `${own.revision}-modified`],
    ['3.5.0', 'non-git'],
    ['3.5.0', 'unknown'],
    // Debian and Arch.
    ['2.42.0+ds', '2.42.0+ds-5+b5'],
    ['3.5.3+ds1', '3.5.3+ds1-6'],
    ['3.5.0', '3.5.0'],
  ] as const) {
    const found = flavour.read(200, info({ ...own, version, revision }))
    assert.equal(found.isKnown, true, version)
    assert.equal(found.label, `Prometheus ${version}`)
  }
  assert.deepEqual(flavour.read(200, info({ ...own, version: 'v2.53.1' })).version?.slice(0, 2), [2, 53])
})

const others: Record<string, readonly [status: number, body: string]> = {
  'VictoriaMetrics leaves most of it out': [200, info({ version: '2.24.0' })],
  'Thanos counts from 0': [200, info({ ...own, version: '0.36.1' })],
  'Mimir names itself': [200, info({ ...own, version: '2.14.0', application: 'Grafana Mimir' })],
  'Cortex is older than 2': [200, info({ ...own, version: '1.18.0' })],
  'a future Prometheus 4': [200, info({ ...own, version: '4.0.0' })],
  'a version of 20 or more': [200, info({ ...own, version: '20.1.0' })],
  'no version': [200, info({ revision, goVersion: 'b' })],
  'no revision': [200, info({ version: '3.5.0', goVersion: 'go1.25.1' })],
  'Google Managed Prometheus': [200, info({ ...own, version: '2.55.0', revision: 'gmp/v0.15.3' })],
  'a version with a suffix': [200, info({ ...own, version: '2.55.0-gmp.1' })],
  'a version with a suffix that the revision does not repeat': [200, info({ ...own, version: '3.5.3+ds1' })],
  'a revision of another version': [200, info({ ...own, version: '3.5.3+ds1', revision: '3.5.3+ds10' })],
  'a revision that is none': [200, info({ ...own, revision: 'main' })],
  'an empty revision': [200, info({ ...own, revision: '' })],
  'an error': [404, 'not found'],
  'an error with good data': [500, info(own)],
  'no JSON': [200, '<html>'],
  nothing: [200, ''],
  null: [200, 'null'],
  'data that is null': [200, info(null)],
  'data that is a text': [200, info('x')],
}
for (const [name, [status, body]] of Object.entries(others)) {
  test(`not known: ${name}`, () => {
    const found = flavour.read(status, body)
    assert.equal(found.isKnown, false)
    assert.notEqual(found.label, '')
  })
}

test('an error or a login page does not describe the database; another server does', () => {
  for (const [status, body] of [
    [200, '<!doctype html><title>Sign in</title>'],
    [200, '{"error":"login required"}'],
    [200, ''],
    [302, ''],
    [401, 'Unauthorized'],
    [403, info(own)],
  ] as const) {
    assert.equal(flavour.read(status, body).isUnreadable, true, body)
  }
  assert.equal(flavour.read(200, info({ version: '2.24.0' })).isUnreadable, undefined)
})
