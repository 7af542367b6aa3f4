import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFamilyMember, typicalRange, withHeaders } from '../../testing/family-suite.ts'
import { getRange } from '../../testing/range-requests.ts'
import type { Flavour } from '../backend.ts'
import { flavour } from './flavour.ts'
import { mimir } from './index.ts'

const backend = mimir({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })
const now = 1_800_000_000_000

testFamilyMember({
  backend,
  headers: ['x-scope-orgid', 'x-mimir-force-prometheus-engine', 'x-read-consistency'],
})

test('it names itself', () => {
  const info = (data: unknown) => JSON.stringify({ status: 'success', data })
  const known = flavour.read(200, info({ application: 'Grafana Mimir', version: '3.1.0', features: {} }))
  assert.deepEqual(known, { isKnown: true, label: 'Mimir 3.1.0', version: [3, 1] })
  assert.equal(
    flavour.read(200, info({ version: '3.5.0', revision: 'a', goVersion: 'go1.26' })).isKnown,
    false,
  )
  assert.equal(flavour.read(401, 'no org id').isUnreadable, true)
})

const labels = `query=${encodeURIComponent('label_replace(up, "a", "$1", "b", "(.*)")')}&${typicalRange.slice(9)}`

function bypassOf(request = getRange(labels), known?: Flavour): unknown {
  const query = backend.parse(request)
  assert.ok(query !== undefined && !('bypass' in query))
  const plan = backend.plan(query, now, known)
  return 'bypass' in plan ? plan.bypass : 'planned'
}

test('label functions are cached where both its engines check labels at each step', () => {
  const at = (...version: number[]): Flavour => ({ isKnown: true, label: '', version })
  assert.equal(bypassOf(getRange(labels), at(3, 1)), 'planned')
  assert.equal(bypassOf(getRange(labels), at(2, 17)), 'unsafe_function')
  assert.equal(bypassOf(getRange(labels)), 'unsafe_function')
  const forced = { ...getRange(labels), headers: ['x-mimir-force-prometheus-engine', 'true'] }
  assert.equal(bypassOf(forced, at(3, 1)), 'unsafe_function')
})

test('requests that its own cache refuses are not cached here either', () => {
  const negative = `query=${encodeURIComponent('up offset -5m')}&${typicalRange.slice(9)}`
  assert.equal(bypassOf(getRange(negative)), 'unsafe_offset')
})

test('answers that are kept as a whole are apart by tenant, too', () => {
  const labelsOf = (tenant: string) => {
    const request = { ...withHeaders('x-scope-orgid', tenant), path: '/api/v1/labels', search: '' }
    return backend.whole!.plan(request, now)!.text
  }
  assert.notEqual(labelsOf('a'), labelsOf('b'))
  assert.equal(labelsOf('a'), labelsOf('a'))
})
