import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flavour } from './flavour.ts'

const status = (version: unknown, modules: unknown = []): string =>
  JSON.stringify({ version, modules, memory: {} })

test('Druid 25 and later is known, with its version', () => {
  assert.deepEqual(flavour.read(200, status('33.0.0')), {
    isKnown: true,
    label: 'Druid 33.0.0',
    version: [33, 0, 0],
  })
  assert.ok(flavour.read(200, status('25.0.0')).isKnown)
  assert.deepEqual(flavour.read(200, status('34.1.2-SNAPSHOT')).version, [34, 1, 2])
})

test('older versions, and servers with another count, are not', () => {
  for (const version of ['24.0.2', '0.23.0', '2025.01.0', '33', '33.0.0.1', '', 33, null]) {
    assert.equal(flavour.read(200, status(version)).isKnown, false, String(version))
  }
})

test('a response that is not the status of a Druid is reported as none', () => {
  const none = { isKnown: false, isUnreadable: true, label: 'no status of Druid (status 200)' }
  for (const body of ['', 'null', '[]', '"33.0.0"', '{"version":"33.0.0"}', '<html>', '{"modules":[]}']) {
    assert.deepEqual(flavour.read(200, body), none, body)
  }
  assert.deepEqual(flavour.read(401, status('33.0.0')), {
    isKnown: false,
    isUnreadable: true,
    label: 'no status of Druid (status 401)',
  })
})
