/** A proxy as a library before a database whose data changes later than the policy assumes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mimir } from '../../src/backends/mimir/index.ts'
import { ask, outcomeOf } from './client.ts'
import { rangePath } from './matrix.ts'
import { NOW, startBoth } from './setup.ts'

test('startWindowpane stretches the policy to the age at which the data of its database settles', async (t) => {
  const database = mimir({ settledAgeMs: 660_000, maxBuckets: 1000 })
  const flavour = { ...database.flavour, read: () => ({ isKnown: true, label: 'Mimir' }) }
  const { url, clock } = await startBoth(t, { backend: { ...database, flavour } })
  const end = NOW - 12 * 60_000
  const outcome = async () => outcomeOf(await ask(url, rangePath({ start: end, end })))
  assert.equal(await outcome(), 'miss/absent')
  await clock.advance(9_999)
  assert.equal(await outcome(), 'hit')
  await clock.advance(1)
  assert.equal(await outcome(), 'miss/expired')
})
