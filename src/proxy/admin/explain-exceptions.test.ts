import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backend, WireRequest } from '../../backends/backend.ts'
import { druid } from '../../backends/druid/index.ts'
import type { ExplainedRequest } from '../../engine/explain/explain.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { ladder } from '../../ttl/ladder.ts'
import type { Mode, Rule } from '../request/settings.ts'
import { explainWire } from './explain.ts'

const wire: WireRequest = {
  ...{ method: 'POST', path: '/druid/v2', search: '', headers: ['content-type', 'application/json'] },
  body: Buffer.from(
    JSON.stringify({
      ...{ queryType: 'timeseries', dataSource: 'wiki', granularity: 'hour' },
      ...{ aggregations: [], intervals: '2026-01-01T00:10/2026-01-01T03:20' },
    }),
  ),
}

/** The plan that is explained, by mode and rules. */
async function explained(mode: Mode, rules: readonly Rule[] = []): Promise<ExplainedRequest['plan']> {
  const terms = { mode, identity: 'shared', policy: ladder(), maxStaleMs: 0, edges: 'whole' } as const
  let plan: ExplainedRequest['plan'] | undefined
  await explainWire(
    {
      ...{ backend: druid({ maxBuckets: 100 }) as unknown as Backend, clock: fakeClock() },
      ...{ flavour: { current: { isKnown: true, label: 'Druid' } }, settings: () => ({ terms, rules }) },
      cache: {
        explain(request) {
          plan = request.plan
          return Promise.resolve({ outcome: 'hit', now: 0, sentence: '' })
        },
      },
    },
    wire,
  )
  return plan!
}

test('the rewritten request is explained, as the proxy would answer it', async () => {
  const plan = await explained('on')
  assert.deepEqual([plan.rewritten, plan.edges], ['edges=whole', undefined])
})

test('shadow mode and a rule that is exact explain the request as it came', async () => {
  const exact: Rule = { name: 'exact', terms: { edges: 'exact' }, isMatch: () => true }
  for (const plan of [await explained('shadow'), await explained('on', [exact])]) {
    assert.equal(plan.rewritten, undefined)
    assert.equal(plan.edges?.buckets.length, 2)
  }
})
