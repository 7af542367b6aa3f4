/** Learners of several nodes, in step through a store: their curves are those of one node that saw everything. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { learnedTerms, refetchOf } from '../../../test/rigs/refetches.ts'
import type { Cells } from '../../stores/cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/random.ts'
import { Learner } from '../../ttl/learned/learner.ts'
import type { StalenessSample } from '../../ttl/learned/learning.ts'
import { evidenceRoundMs, SharedEvidence } from './shared-evidence.ts'

const minuteMs = 60_000

const learnerOn = (clock: FakeClock): Learner => new Learner({ clock, lapsesOnEpochs: false })

async function nodeOn(clock: FakeClock, cells: Cells) {
  const learner = learnerOn(clock)
  const shared = new SharedEvidence({ clock, cells, backend: 'main', learner })
  await shared.load()
  return { learner, shared }
}

const curveOf = (learner: Learner) => learner.report(learnedTerms)
type Curve = ReturnType<typeof curveOf>

interface Tolerance {
  readonly share: number
  readonly fromMs?: number
}

function assertClose(
  actual: Curve,
  expected: Curve,
  { share, fromMs = Number.NEGATIVE_INFINITY }: Tolerance,
): void {
  for (const [i, { rate, ttlMs, ...found }] of actual.entries()) {
    if (found.fromMs < fromMs) continue
    const off = Math.max(Math.abs(rate / expected[i]!.rate - 1), Math.abs(ttlMs / expected[i]!.ttlMs - 1))
    assert.ok(off <= share, `from ${found.fromMs} ms on, rate and TTL are off by ${off}`)
  }
}

test('the curve of each of two nodes is that of one node that saw everything', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const nodes = [await nodeOn(clock, cells), await nodeOn(clock, cells)]
  const all = learnerOn(clock)
  const random = seededRandom(3)
  for (let i = 0; i < 240; i++) {
    await clock.advance(minuteMs)
    const event = refetchOf({ at: clock.now(), random, changesPerHour: 0.5, shape: `s${i % 3}` })
    nodes[i % 2]!.learner.observe(event)
    all.observe(event)
  }
  await clock.advance(2.2 * evidenceRoundMs)
  const [one, two] = nodes.map(({ learner }) => curveOf(learner))
  assertClose(one!, two!, { share: 0.005 })
  assertClose(one!, curveOf(all), { share: 0.01, fromMs: 20 * minuteMs })
  // A gap of five minutes crosses several of the young classes, and changes are shared out by the rates in force at the time.
  assertClose(one!, curveOf(all), { share: 0.25 })
})

test('evidence that was adopted and disowned again leaves no trace', async () => {
  const clock = fakeClock()
  const random = seededRandom(4)
  const [one, other] = [learnerOn(clock), learnerOn(clock)]
  const sampleOf = (isStale: boolean): StalenessSample => ({
    ...{ kind: 'sample', at: clock.now(), ageMs: 5 * minuteMs, isStale, error: Number(isStale) },
  })
  for (let i = 0; i < 120; i++) {
    await clock.advance(minuteMs)
    for (const [learner, changesPerHour] of [
      [one, 0.5],
      [other, 3],
    ] as const) {
      learner.observe(refetchOf({ at: clock.now(), random, changesPerHour, shape: `s${i % 3}` }))
      learner.observe(sampleOf(i % 3 === 0))
    }
  }
  const before = one.own().map(({ sums }) => sums)
  one.adopt(other.own())
  assert.notDeepEqual(one.own()[0]!.sums, before[0])
  one.disown(other.own())
  for (const [i, { sums }] of one.own().entries()) {
    for (const [j, sum] of sums.entries()) {
      assert.ok(
        Math.abs(sum - before[i]![j]!) <= 1e-6 * before[i]![j]! + 1e-9,
        `${sum} is not ${before[i]![j]}`,
      )
    }
  }
  // More than there is: nothing becomes negative.
  one.disown(other.own())
  one.disown(other.own())
  assert.ok(one.own().every(({ sums }) => sums.every((sum) => sum >= 0)))
  assert.ok(one.report(learnedTerms).every(({ ttlMs }) => ttlMs > 0))
})
