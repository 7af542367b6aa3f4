/**
 * The share of dashboard queries to Druid that is cached in buckets: Superset's SQL, with the parts of charts combined
 * at random.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPlanner } from '../../../src/backends/druid/plan.ts'
import { seededRandom } from '../../fidelity/random.ts'
import { supersetQuery } from './superset.ts'

const now = Date.UTC(2026, 10, 1)
const queries = 5_000
/** The mark for queries of Superset that are grouped by time. */
const least = 0.8

const planner = createPlanner({ maxBuckets: 11_000 })

function whyNot(sql: string): string | undefined {
  const request = {
    ...{ method: 'POST', path: '/druid/v2/sql/', search: '', headers: ['content-type', 'application/json'] },
    body: Buffer.from(JSON.stringify({ query: sql, context: {}, header: false })),
  }
  const query = planner.parse(request)
  assert.ok(query !== undefined && !('bypass' in query), sql)
  const plan = planner.plan(query, now)
  return 'bypass' in plan ? plan.bypass : undefined
}

test(`of Superset's charts over time at least ${100 * least} % are eligible`, (t) => {
  const random = seededRandom(17)
  const reasons = new Map<string, number>()
  for (let i = 0; i < queries; i++) {
    const { sql, why } = supersetQuery(random)
    const reason = whyNot(sql)
    assert.equal(reason, why, sql)
    reasons.set(reason ?? 'eligible', (reasons.get(reason ?? 'eligible') ?? 0) + 1)
  }
  for (const [reason, count] of reasons) t.diagnostic(`${reason} ${((100 * count) / queries).toFixed(1)} %`)
  assert.ok(reasons.get('eligible')! / queries >= least)
})
