/** The evidence of nodes in a store: laws for every engine with cells. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { SharedEvidence } from '../../src/engine/learning/shared-evidence.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/random.ts'
import type { CellLaws } from '../../src/testing/test-store.ts'
import { Learner } from '../../src/ttl/learned/learner.ts'
import { learnedTerms, refetchOf } from '../rigs/refetches.ts'

type EvidenceLaws = Pick<CellLaws, 'name' | 'create'>

/** A node with one backend. */
export class LearningNode {
  readonly learner: Learner
  readonly shared: SharedEvidence

  constructor(clock: FakeClock, cells: Cells) {
    this.learner = new Learner({ clock, lapsesOnEpochs: false })
    this.shared = new SharedEvidence({ clock, cells, backend: 'main', learner: this.learner })
  }

  /** Observes three shapes for twenty minutes. Returns the curve afterwards. */
  async learn(clock: FakeClock, seed = 5): Promise<readonly number[]> {
    const random = seededRandom(seed)
    for (let i = 0; i < 20; i++) {
      await clock.advance(60_000)
      this.learner.observe(refetchOf({ at: clock.now(), random, changesPerHour: 2, shape: `s${i % 3}` }))
    }
    await clock.advance(60_000)
    return this.curve()
  }

  curve(): readonly number[] {
    return this.learner.report(learnedTerms).map(({ rateUpper95 }) => rateUpper95)
  }
}

export function assertSameCurve(
  actual: readonly number[],
  expected: readonly number[],
  tolerance: number,
): void {
  const ratios = actual.map((rate, i) => rate / expected[i]!)
  const isClose = ratios.every((ratio) => Math.abs(ratio - 1) <= tolerance)
  assert.ok(
    isClose && actual.length === expected.length,
    `ratios of the rates: ${ratios.map((r) => r.toFixed(4))}`,
  )
}

/**
 * Nothing is removed before the rows were listed so often. A node that lists them after another has removed a row, and before that
 * one has saved its own, knows its evidence only a round later.
 */
function removingAfterLists(cells: Cells, count: number): Cells {
  const listed = Promise.withResolvers<void>()
  let lists = 0
  return {
    ...{ name: cells.name, capabilities: cells.capabilities, close: () => {} },
    get: (id, v) => cells.get(id, v),
    put: (id, draft, condition) => cells.put(id, draft, condition),
    take: (id, take) => cells.take(id, take),
    publish: (changes) => cells.publish(changes),
    async list(pk, v) {
      const rows = await cells.list(pk, v)
      if (++lists === count) listed.resolve()
      return rows
    },
    async remove(id, condition) {
      await listed.promise
      return cells.remove(id, condition)
    },
  }
}

/** Engines expire rows by their own clocks. */
const clockAtServerTime = (): FakeClock => fakeClock(1000 * Math.floor(systemClock.now() / 1000))

export function testEvidence({ name, create }: EvidenceLaws): void {
  describe(`evidence in ${name}`, () => {
    test('the evidence of a node counts after its restart, and after that of its successor', async () => {
      const clock = clockAtServerTime()
      const { cells, end } = await create({ clock })
      const first = new LearningNode(clock, cells)
      const unlearned = first.curve()
      const learned = await first.learn(clock)
      assert.notDeepEqual(learned, unlearned)
      await first.shared.load()
      await first.shared.close()
      for (let restart = 0; restart < 2; restart++) {
        const node = new LearningNode(clock, cells)
        await node.shared.load()
        assertSameCurve(node.curve(), learned, 1e-3)
        await node.shared.close()
        assertSameCurve(node.curve(), learned, 1e-3)
      }
      await end?.()
    })

    test('of two nodes that start at once, one adopts what a third has left, and both count it', async () => {
      const clock = clockAtServerTime()
      const { cells, end } = await create({ clock })
      const gone = new LearningNode(clock, cells)
      const learned = await gone.learn(clock)
      await gone.shared.close()
      const patient = removingAfterLists(cells, 2)
      const nodes = [new LearningNode(clock, patient), new LearningNode(clock, patient)]
      await Promise.all(nodes.map(({ shared }) => shared.load()))
      for (const node of nodes) assertSameCurve(node.curve(), learned, 1e-3)
      await Promise.all(nodes.map(({ shared }) => shared.close()))
      const last = new LearningNode(clock, cells)
      await last.shared.load()
      assertSameCurve(last.curve(), learned, 1e-3)
      await last.shared.close()
      await end?.()
    })
  })
}
