/** Exceptions in the engine: queries saved, staleness, and the answer to the rewritten request. Simulated viewers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../test/rigs/engine-rig.ts'
import { type Range, RangesRig } from '../../test/rigs/ranges-rig.ts'
import { seededRandom } from '../testing/random.ts'
import { type EdgeTreatment, rewritePlan } from './rewrites.ts'

const viewers = 30
const refreshMs = 10_000
const windowMinutes = 180
const forMs = 2 * minuteMs
const floorMs = 5_000

interface Seen {
  requests: number
  queries: number
  hits: number
  /** The age of the oldest open bucket in any answer. */
  oldestMs: number
}

/** Viewers of one panel, each with a window that ends now. Every value is the instant at which it was fetched. */
async function watch(edges: EdgeTreatment): Promise<Seen> {
  const rig: RangesRig = new RangesRig({ keepsParts: true, valueAt: () => rig.clock.now() })
  const random = seededRandom(3)
  const seen: Seen = { requests: 0, queries: 0, hits: 0, oldestMs: 0 }
  const phases = Array.from({ length: viewers }, () => Math.floor(random() * refreshMs)).sort((a, b) => a - b)
  for (let began = 0, elapsed = 0; began < forMs; began += refreshMs) {
    for (const phase of phases) {
      await rig.clock.advance(began + phase - elapsed)
      elapsed = began + phase
      await view(rig, edges, seen)
    }
  }
  seen.queries = rig.asked().length
  return seen
}

async function view(rig: RangesRig, edges: EdgeTreatment, seen: Seen): Promise<void> {
  const now = rig.clock.now()
  const to = (now - rig.start) / minuteMs
  const own = rig.planRanges([[to - windowMinutes, to]])
  const plan = rewritePlan(rig.options.backend, own, { terms: { edges, policy: rig.policy }, now })
  const { decision, text } = await rig.serve(plan)
  seen.requests++
  if (decision.outcome === 'hit') seen.hits++
  const rows = (JSON.parse(text) as { rows: [number, number][] }).rows
  const [, fetchedAt] = rows.at(-1)!
  // A cut bucket has a value of its own, and is fetched for every request.
  if (edges !== 'exact') seen.oldestMs = Math.max(seen.oldestMs, now - fetchedAt)
}

const saved = ({ requests, queries }: Seen): number => 1 - queries / requests

test('windows that end now: queries saved and staleness, by the treatment of edges', async (t) => {
  const [exact, live, whole] = [await watch('exact'), await watch('now'), await watch('whole')]
  for (const [name, seen] of Object.entries({ exact, live, whole }))
    t.diagnostic(`${name}: ${JSON.stringify({ ...seen, saved: saved(seen).toFixed(3) })}`)
  assert.ok(exact.requests > 300)
  assert.equal(exact.hits, 0)
  assert.ok(saved(live) >= 0.6, `edges: now saved ${saved(live)}`)
  assert.ok(saved(whole) >= 0.8, `edges: whole saved ${saved(whole)}`)
  for (const { oldestMs } of [live, whole]) assert.ok(oldestMs < floorMs, `${oldestMs} ms old`)
})

test('the answer equals that to the rewritten request, and is named in the plan', async () => {
  const rig = new RangesRig({ keepsParts: true })
  await rig.clock.advance(30_123)
  const now = rig.clock.now()
  const to = (now - rig.start) / minuteMs
  const begin = Math.floor((now - 180.4 * minuteMs) / floorMs) * floorMs
  const cases: readonly [EdgeTreatment, Range][] = [
    ['exact', [to - 180.4, to]],
    ['whole', [Math.floor(to - 180.4), Math.ceil(to)]],
    ['now', [(begin - rig.start) / minuteMs, Math.ceil(to)]],
  ]
  for (const [edges, answered] of cases) {
    const own = rig.planRanges([[to - 180.4, to]])
    const plan = rewritePlan(rig.options.backend, own, { terms: { edges, policy: rig.policy }, now })
    assert.equal(plan.rewritten, edges === 'exact' ? undefined : `edges=${edges}`)
    for (let i = 0; i < 2; i++) {
      const { text, decision } = await rig.serve(plan)
      assert.equal(text, rig.truthRanges([answered]))
      if (i === 1) assert.equal(decision.outcome, 'hit')
    }
  }
})
