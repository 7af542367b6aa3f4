/** The suite can fail: proxies with a known fault are found out. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Form } from './form.ts'
import { annotatedForms } from './forms/histograms.ts'
import { forms } from './queries.ts'
import { runSuite } from './run.ts'
import { chooseSeed, replayCommand, span, startDatabase } from './setup.ts'
import { assertFaithful, assertShares, type Tally } from './tally.ts'
import {
  dropsAnnotations,
  dropsLastPoint,
  type Fault,
  floorsStart,
  startWrongProxy,
  swapsSeries,
} from './wrong-proxy.ts'

const file = 'test/fidelity/meta.test.ts'
const eligibleForms: readonly Form[] = forms.filter((form) => form.eligible)

interface Setting {
  readonly fault: Fault
  /** The proxy's claim about every answer. */
  readonly claim: string
  readonly forms: readonly Form[]
  /** So many that chance does not miss the fault: 500 are 50 walks. */
  readonly comparisons?: number
}

async function judge(t: TestContext, database: string, setting: Setting): Promise<Tally> {
  const { comparisons = 500 } = setting
  const proxy = await startWrongProxy(database, setting.fault, setting.claim)
  const run = { seed: chooseSeed(t), span, forms: setting.forms, replay: replayCommand(file) }
  try {
    return await runSuite(run, { direct: database, proxied: proxy.url }, { comparisons, walkers: 4 })
  } finally {
    await proxy.close()
  }
}

interface Case extends Setting {
  readonly noticed: RegExp
}

const faulty = (fault: Fault, noticed = /differs in {3}body/, among = eligibleForms): Case => ({
  fault,
  claim: 'hit',
  forms: among,
  noticed,
})

const reprint = (body: string) => JSON.stringify(JSON.parse(body))

const cases: Record<string, Case> = {
  'loses the last point': faulty({ answer: dropsLastPoint }),
  'swaps two series': faulty({ answer: swapsSeries }),
  'aligns the start to the step': faulty({ question: floorsStart }),
  // One walk in four has a number that is printed in another way.
  'prints numbers anew': { ...faulty({ answer: reprint }), comparisons: 1000 },
  'loses annotations': faulty({ answer: dropsAnnotations }, /differs in {3}(warnings|infos)/, annotatedForms),
  'always forwards and reports it': {
    fault: {},
    claim: 'bypass/sorting',
    forms: eligibleForms,
    noticed: /expected one of hit, partial, miss, got bypass\/sorting/,
  },
  'claims a hit where it must forward': {
    fault: {},
    claim: 'hit',
    forms: forms.filter((form) => form.bypass !== undefined),
    noticed: /expected bypass\/\w+, got hit/,
  },
}

test('a wrong proxy is found out', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return

  await t.test('one that only forwards is faithful, but no cache', async (t) => {
    const tally = await judge(t, prometheus.url, { fault: {}, claim: 'miss/absent', forms: eligibleForms })
    assertFaithful(tally)
    assert.throws(() => assertShares([tally]), /share of hit is 0\.000/)
  })

  for (const [name, setting] of Object.entries(cases)) {
    await t.test(`one that ${name}`, async (t) => {
      const tally = await judge(t, prometheus.url, setting)
      assert.throws(() => assertFaithful(tally), setting.noticed)
      assert.match(tally.reports[0] ?? '', /replay {7}WINDOWPANE_SEED=\d+ WINDOWPANE_WALK=\d+/)
    })
  }
})
