/** Objects with a witness: fresh beyond their terms, for as long as their data does not change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VouchedSpan } from '../../core/witness.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { countedRender, minute, shown } from '../../testing/object-rig.ts'
import { objectCache } from './object-cache.ts'
import type { ObjectTerms } from './objects.ts'

const start = 1_000_000
const hourMs = 3_600_000
/** Seen to be the same since before the object was generated. */
const vouched: VouchedSpan = { since: start - 1, until: start + hourMs, maxAgeMs: 24 * hourMs }

async function rig(terms: ObjectTerms = minute) {
  const clock = fakeClock(start)
  const cache = objectCache(memoryCells({ clock }), { clock })
  const render = countedRender()
  const ask = async (said?: Partial<VouchedSpan>, freshFrom = 0) => {
    const demands = { freshFrom, ...(said && { vouched: { ...vouched, ...said } }) }
    return cache.get('k', render, terms, demands)
  }
  assert.equal(shown(await ask()), 'miss v1')
  return { clock, cache, render, ask }
}

test('fresh for as long as the witness is trusted, at once, and marked so', async () => {
  const { clock, cache, render, ask } = await rig()
  clock.jump(start + hourMs - 1)
  const answer = cache.get('k', render, minute, { vouched })
  assert.ok(!(answer instanceof Promise))
  assert.equal(shown(answer), 'hit v1')
  assert.equal(answer.freshUntil, vouched.until)
  assert.equal((await cache.peek('k', { vouched }))?.state, 'hit')
  assert.equal((await cache.peek('k'))?.state, undefined)
  clock.jump(start + hourMs)
  assert.equal(shown(await ask({})), 'stale v1')
})

test('no longer than the cap, counted from when it was generated', async () => {
  const { clock, ask } = await rig()
  const capped = { until: start + 30 * hourMs, maxAgeMs: hourMs }
  clock.jump(start + hourMs - 1)
  assert.equal(shown(await ask(capped)), 'hit v1')
  clock.jump(start + hourMs + 30_000)
  assert.equal(shown(await ask(capped)), 'miss v2')
})

test('an object generated before the witness saw the data is under its own terms, and no shorter ones', async () => {
  const { clock, ask } = await rig()
  const seenLater = { since: start }
  clock.jump(start + 59_999)
  assert.equal(shown(await ask(seenLater)), 'hit v1')
  clock.jump(start + 90_000)
  assert.equal(shown(await ask(seenLater)), 'miss v2')
})

test('a change counts before the witness', async () => {
  const { clock, ask } = await rig()
  clock.jump(start + 1000)
  assert.equal(shown(await ask({}, start + 1)), 'miss v2')
})

test('staleness counts from when it was last vouched for', async () => {
  const { clock, render, ask } = await rig()
  render.gives = () => Promise.reject(new Error('down'))
  clock.jump(start + hourMs + 299_999)
  assert.equal(shown(await ask({})), 'stale v1')
  clock.jump(start + hourMs + 300_000)
  await assert.rejects(async () => ask({}), /down/)
})

test('terms that the response brought along are not extended', async () => {
  const { clock, render, ask } = await rig()
  render.gives = (call) => ({ body: Buffer.from(`v${call}`), terms: { revalidateSeconds: 5 } })
  clock.jump(start + 100_000)
  assert.equal(shown(await ask()), 'miss v2')
  clock.jump(start + 105_000)
  assert.equal(shown(await ask({})), 'miss v3')
})

test('an object that is not to be stored is not stored', async () => {
  const { clock, ask } = await rig({ revalidateSeconds: 0, staleIfErrorSeconds: 300 })
  clock.jump(start + 1)
  assert.equal(shown(await ask({})), 'miss v2')
})
