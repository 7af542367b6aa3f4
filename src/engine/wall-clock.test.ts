/** The wall clock is set by people and by NTP: buckets fetched afterwards count, whatever the clock was before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'

for (const back of [1, 10 * minuteMs, 24 * 60 * minuteMs]) {
  test(`set back by ${back} ms: the next fetch is stored, and the one after it is a hit`, async () => {
    const rig = new EngineRig()
    const to = rig.openCell - 2 * 24 * 60 * minuteMs
    await rig.ask(60, to)
    assert.equal((await rig.ask(60, to)).decision.outcome, 'hit')
    rig.clock.jump(rig.clock.now() - back)
    const first = await rig.ask(60, to)
    assert.deepEqual([first.decision.outcome, first.text], ['miss', rig.truth(60, to)])
    const second = await rig.ask(60, to)
    assert.deepEqual([second.decision.outcome, second.text], ['hit', rig.truth(60, to)])
    assert.equal(rig.database.asked.length, 2)
  })
}

test('set back and forth: after every fetch there is a hit', async () => {
  const rig = new EngineRig()
  const to = rig.openCell - 2 * 24 * 60 * minuteMs
  for (const minutes of [-10, 20, -5, -60, 90]) {
    rig.clock.jump(rig.clock.now() + minutes * minuteMs)
    await rig.ask(60, to)
    const { decision, text } = await rig.ask(60, to)
    assert.deepEqual([decision.outcome, text], ['hit', rig.truth(60, to)], `${minutes} minutes`)
  }
})
