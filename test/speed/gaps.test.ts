/**
 * The cost of the rules for gaps to a database, in simulated time: the published rule has the published cost, and
 * fetching all gaps in one query costs no more than that.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import { cases } from '../../bench/gaps/cases.ts'
import { type Cost, type Rule, rules, simulate } from '../../bench/gaps/simulation.ts'

/** Two hours of the same are enough: everything repeats after one. */
const shorter = { warmUpHours: 2, hours: 4 }

for (const { name, workload, published } of cases) {
  const { lagMs = 0, coalescing = false } = workload
  // Duplicate fetches depend on the chance of phases, of which the published figures have one draw.
  const isChance = lagMs > 0 && !coalescing
  const costOf = (rule: Rule): Cost => simulate({ ...shorter, ...workload }, rule, 1)
  let prefix: Cost
  test(`${name}: the prefix rule has the published cost`, () => {
    prefix = costOf(rules.prefix)
    for (const what of ['queries', 'buckets'] as const) {
      const tolerance = isChance ? 0.25 * published[what] : Math.max(1, 0.05 * published[what])
      const actual = prefix[what] / prefix.minutes
      assert.ok(Math.abs(actual - published[what]) <= tolerance, `${actual.toFixed(1)} ${what} a minute`)
    }
  })
  if (isChance) continue
  test(`${name}: all gaps in one query cost no more buckets, and no more queries`, () => {
    const own = costOf(rules.windowpane)
    assert.ok(own.buckets <= prefix.buckets, `${own.buckets} buckets instead of ${prefix.buckets}`)
    assert.ok(own.queries <= 1.05 * prefix.queries, `${own.queries} queries instead of ${prefix.queries}`)
  })
}
