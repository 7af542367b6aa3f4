/** Buckets that are computed from data after their end (`x offset -10m`) are as old as that data. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'
import type { Plan } from '../backends/backend.ts'

const lookaheadMs = 10 * minuteMs

/** Half a minute past the hour. */
async function newRig(): Promise<EngineRig> {
  const rig = new EngineRig()
  await rig.clock.advance(30_000)
  return rig
}

const planOver = (rig: EngineRig, cells: number, endsAgo: number): Plan => {
  const to = rig.openCell - endsAgo * minuteMs
  return { ...rig.plan(to - cells * minuteMs, to), lookaheadMs }
}

const askedCells = (rig: EngineRig): number[] => rig.database.asked.splice(0).map((query) => query.cells)

test('a bucket whose data is still to come has the floor, however long it is over', async () => {
  const rig = await newRig()
  // The youngest of them ended nine minutes ago: under the ladder its TTL would be minutes.
  const plan = planOver(rig, 1, 9)
  await rig.serve(plan)
  await rig.clock.advance(4000)
  assert.equal((await rig.serve(plan)).decision.outcome, 'hit')
  await rig.clock.advance(2000)
  assert.equal((await rig.serve(plan)).decision.outcome, 'miss')
  assert.deepEqual(askedCells(rig), [1, 1])
})

test('TTLs grow with the age of the data, and buckets settle with it', async () => {
  const rig = await newRig()
  const plain = { ...planOver(rig, 30, 0), lookaheadMs: 0 }
  const later = planOver(rig, 30, 0)
  const [ofPlain, ofLater] = [await rig.explainPlan(plain), await rig.explainPlan(later)]
  const ttlAt = (ttls: typeof ofPlain.ttls, at: number): number =>
    ttls!.find(({ from, to }) => from <= at && at < to)!.ttlMs.max
  for (let cell = plain.window.from; cell < plain.window.to; cell++) {
    const start = cell * minuteMs
    const same = Math.min(start + lookaheadMs, (plain.window.to - 1) * minuteMs)
    assert.equal(ttlAt(ofLater.ttls, start), ttlAt(ofPlain.ttls, same), `cell ${cell}`)
  }
  await rig.serve(later)
  const { runs } = await rig.explainPlan(later)
  // It settles eleven minutes after the data; half a minute is gone.
  const settled = runs!.filter((run) => run.settled).reduce((sum, { buckets }) => sum + buckets, 0)
  assert.equal(settled, 30 - 11 - 10)
})

test('a purge of data reaches the buckets before it that are computed from it', async () => {
  const rig = await newRig()
  const plan = planOver(rig, 60, 60)
  await rig.serve(plan)
  const { to } = plan.window
  const from = (to - 5) * minuteMs
  assert.equal((await rig.purge.run({ from, to: from + minuteMs })).buckets, 11)
  await rig.clock.advance(1000)
  await rig.serve(plan)
  assert.deepEqual(askedCells(rig), [60, 11])
})
