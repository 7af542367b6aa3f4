/** A whole run of the suite: in front of a broker, and a part of it in front of a router. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/core/clock.ts'
import { requireServer } from '../../data/fixture.ts'
import type { Size } from '../../fidelity/run.ts'
import { chooseSeed, fromEnvironment, replayCommand } from '../../fidelity/setup.ts'
import { assertFaithful, assertShares } from '../../fidelity/tally.ts'
import type { DruidAddresses } from '../../servers/druid/druid.ts'
import { startDruidFixture } from '../fixture.ts'
import type { Form } from './form.ts'
import { type DruidTally, runSuite } from './run.ts'
import { startUnderTest } from './under-test.ts'

interface Plan {
  readonly file: string
  readonly forms: readonly Form[]
  readonly comparisons: number
}

const walkers = 4
export const least = { nonEmpty: 0.75, eligible: 0.75, hit: 0.35, partial: 0.25 }
/** Of the comparisons, with the router in the place of the broker. */
const routerShare = 0.15

export async function compareAll(t: TestContext, plan: Plan): Promise<void> {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const seed = chooseSeed(t)
  const size = chooseSize(plan.comparisons)
  const tallies: DruidTally[] = []
  for (const [round, role, direct, share] of rounds(size.rounds, druid)) {
    await t.test(round === 0 ? role : `${role}, round ${round + 1}`, async (t) => {
      const proxy = await startUnderTest(direct)
      t.after(() => proxy.close())
      const started = systemClock.elapsed()
      const servers = { direct, proxied: proxy.url }
      const run = { seed: seed + round, forms: plan.forms, replay: replayCommand(plan.file) }
      const tally = await runSuite(run, servers, {
        ...size,
        comparisons: Math.round(size.comparisons * share),
      })
      const seconds = (systemClock.elapsed() - started) / 1000
      for (const line of tally.table().split('\n')) t.diagnostic(line)
      t.diagnostic(`${plan.forms.length} forms, ${seconds.toFixed(1)} s`)
      assertFaithful(tally)
      tallies.push(tally)
      if (role === 'broker' && size.isWhole) assert.equal(tally.byForm.size, plan.forms.length, 'forms asked')
    })
  }
  if (size.only === undefined) assertShares(tallies, least)
}

function* rounds(count: number, { brokerUrl, routerUrl }: DruidAddresses) {
  for (let round = 0; round < count; round++) {
    yield [round, 'broker', brokerUrl, 1 - routerShare] as const
    yield [round, 'router', routerUrl, routerShare] as const
  }
}

/**
 * WINDOWPANE_WALK selects one walk only. The usual number is enough for every form to have its turn. More are made in
 * rounds, each with an empty proxy: after a while everything would be a hit.
 */
function chooseSize(usual: number): Size & { readonly isWhole: boolean; readonly rounds: number } {
  const wanted = fromEnvironment('WINDOWPANE_COMPARISONS') ?? usual
  const only = fromEnvironment('WINDOWPANE_WALK')
  const comparisons = Math.min(wanted, usual)
  const isWhole = only === undefined && comparisons === usual
  const rounds = only === undefined ? Math.ceil(wanted / usual) : 1
  return { comparisons, walkers, isWhole, rounds, ...(only !== undefined && { only }) }
}
