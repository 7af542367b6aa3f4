import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getRange } from '../../../test/rigs/range-requests.ts'
import { assuming } from './assumed.ts'
import { prometheus } from './index.ts'

const backend = assuming(prometheus({ settledAgeMs: 86_400_000, maxBuckets: 11_001 }))
const info = (data: unknown) => JSON.stringify({ status: 'success', data })

test('an unknown server is assumed to be Prometheus; a known one is what it is, and a login page is no server', () => {
  const { read } = backend.flavour
  const compatible = read(200, info({ version: '9.1.0', application: 'Compatible' }))
  assert.deepEqual(compatible, {
    isKnown: true,
    isAssumed: true,
    label: 'assumed to be Prometheus: Compatible 9.1.0',
  })
  assert.equal(read(404, 'page not found').isAssumed, true)
  const real = read(200, info({ version: '3.5.0', revision: 'abc', goVersion: 'go1.25.1' }))
  assert.deepEqual([real.isKnown, real.isAssumed], [true, undefined])
  for (const [status, body] of [
    [200, '<html>'],
    [401, ''],
    [503, ''],
    [302, ''],
  ] as const)
    assert.equal(read(status, body).isKnown, false, `${status} ${body}`)
})

test('answers that depend on the assumption name it', () => {
  const query = backend.parse(getRange('query=up&start=1600000000&end=1600000600&step=60'))
  assert.ok(query !== undefined && !('bypass' in query))
  const exceptionsOf = (isAssumed: boolean) => {
    const plan = backend.plan(query, 1_800_000_000_000, {
      isKnown: true,
      label: '',
      ...(isAssumed && { isAssumed }),
    })
    return 'bypass' in plan ? plan.bypass : plan.exceptions
  }
  assert.deepEqual(exceptionsOf(true), ['assume.server'])
  assert.equal(exceptionsOf(false), undefined)
})
