import assert from 'node:assert/strict'
import test from 'node:test'
import { modelOfFetch, paneOfFetch, randomFetch } from '../testing/pane-model.ts'
import { seededRandom, wholeNumber } from '../testing/random.ts'
import type { Pane, PaneBody } from './pane.ts'
import { slice } from './pane.ts'
import { join } from './pane-join.ts'

const bytesOf = (body: PaneBody, place: { column: number; lane: number }, bucket: number): string => {
  const [start, end] = [bucket, bucket + 1].map((each) => body.offsetOf(place.column, place.lane, each))
  return body.bytes.toString('latin1', body.slabAt + start!, body.slabAt + end!)
}

/** Column by column and bucket by bucket. */
function assertTakenOver(from: Pane, to: PaneBody): void {
  assert.equal(from.body.columns, to.columns)
  for (let column = 0; column < to.columns; column++) {
    for (let lane = 0; lane < to.lanes; lane++) {
      for (let bucket = from.from; bucket < from.to; bucket++) {
        const place = { column, lane }
        assert.equal(bytesOf(to, place, bucket), bytesOf(from.body, place, bucket))
      }
    }
  }
}

test('the origin of a joined body is in it at the same place', () => {
  let named = 0
  for (let seed = 1; seed <= 2000; seed++) {
    const random = seededRandom(seed)
    const dice = (min: number, max: number) => wholeNumber(random, min, max)
    const cut = dice(1, 9)
    const old = paneOfFetch(randomFetch(dice, { interval: { from: 0, to: 10 }, fetchedAt: 1 }))
    const fresh = paneOfFetch(randomFetch(dice, { interval: { from: cut, to: 12 }, fetchedAt: 2 }))
    const panes = [slice(old, { from: dice(0, cut - 1), to: cut }), fresh]
    const joined = join(panes).body
    for (const { id, from, to } of joined.origins) {
      const origin = panes.find(({ body }) => body.id === id)!
      assert.deepEqual([from, to], [origin.from, origin.to])
      assertTakenOver(origin, joined)
      named++
    }
  }
  assert.ok(named > 100, `${named} origins`)
})

test('panes of the same columns are all origins', () => {
  const dice = () => 0
  const fetch = randomFetch(dice, { interval: { from: 0, to: 4 }, fetchedAt: 1 })
  const columns = fetch.columns.map(([rank, column]) => {
    const cells = new Map([0, 1, 2, 3].map((bucket) => [bucket, `${bucket},`]))
    return [rank, { ...column, lanes: [cells, new Map<number, string>()] }] as const
  })
  const whole = paneOfFetch({ ...fetch, columns })
  assert.ok(modelOfFetch({ ...fetch, columns }).columns.size > 1)
  const parts = [slice(whole, { from: 0, to: 2 }), slice(whole, { from: 2, to: 4 })]
  assert.deepEqual(
    join(parts).body.origins,
    parts.map(({ body, from, to }) => ({ id: body.id, from, to })),
  )
})

test('a body that was not joined has no origins', () => {
  assert.deepEqual(
    paneOfFetch(randomFetch(() => 0, { interval: { from: 0, to: 4 }, fetchedAt: 1 })).body.origins,
    [],
  )
})
