/** The suite can fail: proxies with a known fault are found out. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { requireServer } from '../../data/fixture.ts'
import { chooseSeed, replayCommand } from '../../fidelity/setup.ts'
import { assertFaithful, assertShares } from '../../fidelity/tally.ts'
import { startDruidFixture } from '../fixture.ts'
import type { Form } from './form.ts'
import { nativeForms, sqlForms } from './queries.ts'
import { type DruidTally, runSuite } from './run.ts'
import { least } from './setup.ts'
import {
  forgetsTheFilter,
  forwarding,
  keepsEdges,
  losesLastRow,
  planningWrongly,
  printsAnew,
  type StartProxy,
  widensEdges,
} from './wrong-proxy.ts'

const file = 'test/druid/differential/meta.test.ts'
const all = [...nativeForms, ...sqlForms]
const eligibleForms = all.filter((form) => form.eligible && form.inexact === undefined)

interface Case {
  readonly start: StartProxy
  readonly forms?: readonly Form[]
  /**
   * Enough that chance does not miss the fault, which about half of the walks meet: 500 are 40 walks. Absent: every
   * answer shows it.
   */
  readonly comparisons?: number
  readonly noticed: RegExp
}

async function judge(
  t: TestContext,
  broker: string,
  { start, forms, comparisons = 80 }: Omit<Case, 'noticed'>,
): Promise<DruidTally> {
  const proxy = await start(broker)
  const run = { seed: chooseSeed(t), forms: forms ?? eligibleForms, replay: replayCommand(file) }
  try {
    return await runSuite(run, { direct: broker, proxied: proxy.url }, { comparisons, walkers: 4 })
  } finally {
    await proxy.close()
  }
}

const body = /differs in {3}body/

const cases: Readonly<Record<string, Case>> = {
  'keeps parts of buckets as whole ones': {
    start: planningWrongly(keepsEdges),
    comparisons: 500,
    noticed: body,
  },
  'asks for whole buckets where parts are wanted': {
    start: planningWrongly(widensEdges),
    comparisons: 500,
    noticed: body,
  },
  'takes questions for the same that are not': {
    start: planningWrongly(forgetsTheFilter),
    forms: eligibleForms.filter(({ name }) => /"granularity":"hour".*"filter"/.test(name)).slice(0, 12),
    comparisons: 400,
    noticed: body,
  },
  'loses a row': {
    start: forwarding({ answer: losesLastRow, claim: 'hit' }),
    comparisons: 500,
    noticed: body,
  },
  'prints numbers anew': {
    start: forwarding({ answer: printsAnew, claim: 'hit' }),
    comparisons: 200,
    noticed: body,
  },
  'asks for what is known': {
    start: forwarding({ claim: 'partial/absent asked=100000' }),
    noticed: /asked for 100000 buckets; \d+ were not known/,
  },
  'always forwards and says so': {
    start: forwarding({ claim: 'bypass/limit' }),
    noticed: /expected one of hit, partial, miss, got bypass\/limit/,
  },
  'claims a hit where it must forward': {
    start: forwarding({ claim: 'hit' }),
    forms: all.filter((form) => form.bypass !== undefined),
    noticed: /expected bypass\/\w+, got hit/,
  },
}

test('a wrong proxy is found out', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  await t.test('one that only forwards is faithful, but no cache', async (t) => {
    const tally = await judge(t, druid.brokerUrl, { start: forwarding({ claim: 'miss/absent' }) })
    assertFaithful(tally)
    assert.throws(() => assertShares([tally], least), /share of hit is 0\.000/)
  })

  for (const [name, wrong] of Object.entries(cases)) {
    await t.test(`one that ${name}`, async (t) => {
      const tally = await judge(t, druid.brokerUrl, wrong)
      assert.throws(() => assertFaithful(tally), wrong.noticed)
      assert.match(tally.reports[0] ?? '', /replay {7}WINDOWPANE_SEED=\d+ WINDOWPANE_WALK=\d+/)
    })
  }
})
