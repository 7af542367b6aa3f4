/** Laws of cells about token buckets; see test-store.ts. */
import assert from 'node:assert/strict'
import type { Take } from '../stores/cells.ts'
import type { CellLaw } from './test-store.ts'

const id = { pk: 'T#a', sk: 'STATE' }

/** 100 per minute: a token is 600 units, a millisecond credits one. */
const limit = (cost: number, given: Partial<Take> = {}): Take => ({
  cost: cost * 600,
  capacity: 60_000,
  creditPerMs: 1,
  keepMs: 420_000,
  ...given,
})

export const cellBucketLaws: Readonly<Record<string, CellLaw>> = {
  async 'a bucket begins full, is drained, and is refilled to the millisecond (100 per minute)'(context) {
    const { cells, clock } = context
    assert.deepEqual(await cells.take(id, limit(100)), { ok: true, level: 0 })
    await clock.advance(599)
    assert.deepEqual(await cells.take(id, limit(1)), { ok: false, level: 599, retryAfterMs: 1 })
    await clock.advance(1)
    assert.ok((await cells.take(id, limit(1))).ok)
    await clock.advance(599)
    assert.ok(!(await cells.take(id, limit(1))).ok)
    await clock.advance(1)
    assert.ok((await cells.take(id, limit(1))).ok)
  },

  async 'more than a bucket can hold is never had'({ cells }) {
    const refused = await cells.take(id, limit(101))
    assert.deepEqual(refused, { ok: false, level: 60_000, retryAfterMs: undefined })
  },

  async 'a bucket that outlived its clock is refilled, not forgotten'({ cells, clock }) {
    await cells.take(id, limit(300, { mayOwe: true, keepMs: 1000 }))
    await clock.advance(60_000)
    assert.deepEqual(await cells.take(id, limit(1)), { ok: false, level: -60_000, retryAfterMs: 60_600 })
  },

  async 'a clock that goes back credits nothing, and nothing twice'({ cells, clock }) {
    const start = clock.now()
    await cells.take(id, limit(100))
    clock.jump(start - 60_000)
    assert.ok(!(await cells.take(id, limit(1))).ok)
    await cells.take(id, limit(1, { mayOwe: true }))
    clock.jump(start + 600)
    assert.deepEqual(await cells.take(id, limit(0)), { ok: true, level: 0 })
  },

  async 'giving back to a bucket that is gone creates nothing, and fills none above its capacity'({ cells }) {
    await cells.take(id, limit(-5))
    assert.deepEqual(await cells.list(id.pk, 1), [])
    await cells.take(id, limit(1))
    assert.deepEqual(await cells.take(id, limit(-5)), { ok: true, level: 60_000 })
  },

  async 'no credit is lost over random polling'({ cells, clock }) {
    await cells.take(id, limit(100))
    for (let i = 0; i < 60; i++) {
      await clock.advance(1 + Math.floor(clock.random() * 37))
      await cells.take(id, limit(100))
    }
    const taken = await cells.take(id, limit(0))
    const elapsed = clock.elapsed()
    assert.deepEqual(taken, { ok: true, level: elapsed })
  },
}
