/** The share of the queries of published dashboards that is cached, by the version of Prometheus. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { getRange } from '../rigs/range-requests.ts'
import { expressionsOf } from './generator.ts'
import { idioms } from './idioms.ts'

const now = Date.UTC(2026, 0, 2)

type Version = readonly [major: number, minor: number]

/** Why an expression is not cached; undefined where it is. */
function planner(version: Version, mergedLabels = false): (text: string) => string | undefined {
  const backend = prometheus({ settledAgeMs: 660_000, maxBuckets: 11_001, assume: { mergedLabels } })
  const flavour = { isKnown: true, label: `Prometheus ${version.join('.')}`, version }
  return (text) => {
    const range = { start: String(now / 1000 - 3600), end: String(now / 1000), step: '15' }
    const query = backend.parse(getRange(new URLSearchParams({ query: text, ...range }).toString()))
    assert.ok(query !== undefined && !('bypass' in query), text)
    const plan = backend.plan(query, now, flavour)
    return 'bypass' in plan ? plan.bypass : undefined
  }
}

const perTemplate = 5
const total = idioms.reduce((sum, { weight }) => sum + weight, 0)

/** The share of each reason, by the weights of idioms. */
function sharesOf(why: (text: string) => string | undefined): ReadonlyMap<string, number> {
  const shares = new Map<string, number>()
  for (const idiom of idioms) {
    const texts = expressionsOf(idiom, seededRandom(17), perTemplate)
    for (const text of texts) {
      const reason = why(text) ?? 'eligible'
      shares.set(reason, (shares.get(reason) ?? 0) + idiom.weight / total / texts.length)
    }
  }
  return shares
}

const cases: readonly (readonly [version: Version, mergedLabels: boolean, share: number])[] = [
  [[3, 9], false, 0.995],
  [[3, 5], false, 0.975],
  [[2, 53], false, 0.975],
  [[3, 5], true, 0.995],
]
for (const [version, mergedLabels, share] of cases) {
  const which = `Prometheus ${version.join('.')}${mergedLabels ? ' with assume.mergedLabels' : ''}`
  test(`${which} answers at least ${100 * share} % from buckets`, (t) => {
    const shares = sharesOf(planner(version, mergedLabels))
    for (const [reason, part] of shares) t.diagnostic(`${reason} ${(100 * part).toFixed(2)} %`)
    assert.ok(shares.get('eligible')! >= share)
  })
}

test('an idiom is cached or not, whatever metrics and intervals are put in', () => {
  const [older, newer] = [planner([3, 5]), planner([3, 9])]
  for (const idiom of idioms) {
    for (const text of expressionsOf(idiom, seededRandom(5), perTemplate)) {
      assert.equal(newer(text) === undefined, idiom.neverCached !== true, text)
      assert.equal(older(text) === undefined, (idiom.neverCached ?? idiom.anyLabels) !== true, text)
    }
  }
})
