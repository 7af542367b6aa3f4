/** Shapes that are requested once never reach a far tier, whatever the request causes besides its lookup. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EngineRig, minuteMs, type RigOptions, sharedStore } from '../../test/rigs/engine-rig.ts'
import { learned, RememberingLearner } from '../../test/rigs/learning-rig.ts'
import { RangesRig } from '../../test/rigs/ranges-rig.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { ladder } from '../ttl/ladder.ts'
import type { Claim } from './claims.ts'

const patienceMs = { slow: 1000, down: 1000 }

function newRig(options: RigOptions = {}): RangesRig {
  const clock = fakeClock()
  return new RangesRig({ clock, far: asynchronous(sharedStore(clock), { clock }), patienceMs, ...options })
}

/** Twenty shapes, each requested so many times. Returns the writes to the far tier. */
async function writesAfter(rig: EngineRig, times: number, ranges: string): Promise<number> {
  for (let shape = 0; shape < 20; shape++) {
    for (let time = 0; time < times; time++) {
      const served = rig.serve(rig.planOf(`q=up${shape}&ranges=${ranges}&step=${minuteMs}`))
      await rig.clock.advance(5000)
      assert.equal((await served).answer.kind, 'panes')
    }
  }
  await rig.tiered!.idle()
  return rig.tiered!.far.written
}

const [one, several] = ['60000-1800000', '60000-600000,900000-1200000,1500000-1800000']

interface Case {
  readonly ranges?: string
  readonly lagMs?: number
  readonly isLearning?: boolean
}

const cases: Readonly<Record<string, Case>> = {
  'one range': {},
  'several ranges': { ranges: several },
  'a database that is slower than the patience': { lagMs: 2000 },
  'a policy that learns': { isLearning: true },
}

test('a request that has to read again for another flight is still one request', async () => {
  let claimed = 0
  const claim = (): Claim => {
    const verdict = claimed++ % 2 === 0 ? {} : 'go'
    return { verdict: Promise.resolve(verdict), release() {} }
  }
  const rig = newRig({ claims: { claim } })
  assert.equal(await writesAfter(rig, 1, one), 0)
  assert.equal(claimed, 40)
})

for (const [name, { ranges = one, lagMs = 0, isLearning = false }] of Object.entries(cases)) {
  test(`${name}: one request per shape causes no far write, two cause one each`, async () => {
    for (const times of [1, 2]) {
      const policy = learned(ladder())
      const rig = newRig(isLearning ? { learning: new RememberingLearner(policy) } : {})
      if (isLearning) rig.policy = policy
      rig.database.lagMs = lagMs
      const written = await writesAfter(rig, times, ranges)
      if (times === 1) assert.equal(written, 0)
      else assert.ok(written >= 20, `${written} written`)
    }
  })
}
