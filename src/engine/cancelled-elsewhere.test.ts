/** A query that was cancelled by its id, but not here: by another thread, another proxy, or at the database itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, type Served } from '../../test/rigs/engine-rig.ts'

const lagMs = 100
const cancelled = { status: 500, body: 'cancelled' }

/** Several clients request the same, one after the other; then the database ends the query of the first one. */
async function ended(failure: typeof cancelled, ...ids: readonly (string | undefined)[]) {
  const rig = new EngineRig()
  rig.database.lagMs = lagMs
  const now = rig.openCell
  const all: Promise<Served>[] = []
  for (const queryId of ids) {
    all.push(rig.serve({ ...rig.plan(now - 600_000, now), queryId }))
    await rig.clock.advance(0)
  }
  assert.equal(rig.database.asked.length, 1)
  rig.database.failure = failure
  await rig.clock.advance(lagMs)
  rig.database.failure = undefined
  await rig.clock.advance(lagMs)
  const kinds = (await Promise.all(all)).map(({ answer }) => answer.kind)
  return { kinds, asked: rig.database.asked.length }
}

test('it is cancelled for the requests with that id; the others try again, with one query', async () => {
  assert.deepEqual(await ended(cancelled, 'a', 'b', undefined, 'a'), {
    kinds: ['failure', 'panes', 'panes', 'failure'],
    asked: 2,
  })
})

test('any other error goes to all', async () => {
  const { kinds, asked } = await ended({ status: 500, body: 'out of memory' }, 'a', 'b')
  assert.deepEqual(kinds, ['failure', 'failure'])
  assert.equal(asked, 1)
})

test('without ids, every request gets the cancellation', async () => {
  const { kinds } = await ended(cancelled, undefined, undefined)
  assert.deepEqual(kinds, ['failure', 'failure'])
})
