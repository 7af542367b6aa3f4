/** Laws of cells about several limits in one row, and about limits that change; see test-store.ts. */
import assert from 'node:assert/strict'
import type { BucketLimit, TokenTake } from '../stores/cells.ts'
import { wholeNumber } from './random.ts'
import {
  adjustBy,
  available,
  bucket,
  id,
  levelsOf,
  per100,
  retryOf,
  takeOf,
} from './store-laws-cells-buckets.ts'
import type { CellLaw } from './test-store.ts'

/** 10 000 per minute. */
const tokens = bucket(10_000, 6, 1, 'tokens')
const daily = bucket(100_000, 86_400, 1, 'daily')

const takeAll = (limits: readonly BucketLimit[], costs: readonly number[]): TokenTake => ({
  kind: costs.every((cost) => cost === 0) ? 'peek' : 'take',
  limits: limits.map((limit, i) => ({ ...limit, cost: costs[i]! })),
  keepMs: 'forever',
})

const both = (requests: number, cost: number): TokenTake => takeAll([per100, tokens], [requests, cost])

const monthMs = 30 * 86_400_000

export const cellLimitLaws: Readonly<Record<string, CellLaw>> = {
  async 'all limits are taken from, or none'({ cells }) {
    await cells.take(id, both(40, 9500))
    const refused = await cells.take(id, both(1, 501))
    assert.ok(!refused.ok && 'exceeded' in refused)
    assert.deepEqual(refused.exceeded, ['tokens'])
    assert.deepEqual(levelsOf(await cells.take(id, both(0, 0))).map(available), [60, 500])
    assert.ok((await cells.take(id, both(60, 500))).ok)
  },

  async 'a refusal names all limits that refuse, and waits for the last of them'({ cells }) {
    await cells.take(id, both(100, 10_000))
    const refused = await cells.take(id, both(10, 5000))
    assert.ok(!refused.ok && 'exceeded' in refused)
    assert.deepEqual([refused.exceeded, refused.retryAfterMs], [['a', 'tokens'], 30_000])
    assert.equal(await retryOf(cells, both(1, 10_001)), undefined)
  },

  async 'limits that nothing is taken from are credited as well'({ cells, clock }) {
    await cells.take(id, both(100, 9500))
    await clock.advance(30_000)
    await cells.take(id, both(50, 0))
    assert.deepEqual(levelsOf(await cells.take(id, both(0, 0))).map(available), [0, 5500])
  },

  async 'debt in one limit does not refuse a take from the others'({ cells }) {
    await cells.take(id, both(1, 1))
    await cells.take(id, adjustBy(20_000, 'tokens'))
    assert.ok((await cells.take(id, both(1, 0))).ok)
    assert.ok(!(await cells.take(id, both(1, 1))).ok)
  },

  async 'of many takers exactly as many are served as the scarcest limit allows'({ cells }) {
    const scarce = bucket(17, 1000, 1, 'scarce')
    const take = takeAll([per100, scarce, tokens], [2, 1, 3])
    const takes = await Promise.all(Array.from({ length: 50 }, () => cells.take(id, take)))
    assert.equal(takes.filter(({ ok }) => ok).length, 17)
    const left = levelsOf(await cells.take(id, takeAll([per100, scarce, tokens], [0, 0, 0])))
    assert.deepEqual(left.map(available), [100 - 34, 0, 10_000 - 51])
  },

  async 'concurrent adjustments lose nothing'({ cells }) {
    await cells.take(id, both(100, 10_000))
    const costs = Array.from({ length: 20 }, (_, i) => i - 5)
    await Promise.all(costs.map((cost) => cells.take(id, adjustBy(cost, 'tokens'))))
    assert.deepEqual(levelsOf(await cells.take(id, both(0, 0))).map(available), [0, -90])
  },

  async 'a limit that is new begins at its capacity, and one that is gone is dropped'({ cells }) {
    await cells.take(id, takeOf(per100, 100))
    const grown = await cells.take(id, both(0, 1))
    assert.ok(grown.ok)
    assert.deepEqual(grown.levels.map(available), [0, 9999])
    await cells.take(id, takeAll([tokens], [1]))
    assert.deepEqual(levelsOf(await cells.take(id, both(0, 0))).map(available), [100, 9998])
  },

  async 'changed parameters rescale the level: tokens stay, rounded down, up to the capacity'(context) {
    const { cells, clock } = context
    await cells.take(id, takeOf(per100, 40))
    const wider = bucket(200, 6, 1)
    assert.equal(available(levelsOf(await cells.take(id, takeOf(wider, 10)))[0]!), 50)
    const odd = bucket(200, 7, 1)
    await cells.take(id, takeOf(odd, 1))
    await cells.take(id, adjustBy(100))
    assert.equal(levelsOf(await cells.take(id, takeOf(odd, 0)))[0]!.level, -51 * 7)
    await clock.advance(1)
    assert.equal(levelsOf(await cells.take(id, takeOf(bucket(200, 2, 1), 0)))[0]!.level, -102)
    await cells.take(id, adjustBy(-251))
    assert.equal(available(levelsOf(await cells.take(id, takeOf(bucket(30, 600, 1), 1)))[0]!), 29)
  },

  async 'a level whose product exceeds 2^53 is rescaled exactly'({ cells }) {
    const coarse = bucket(100_000_000, 86_400_000, 1)
    await cells.take(id, takeOf(coarse, 1))
    const fine = bucket(90_000_000, 86_399_999, 1)
    const { level } = levelsOf(await cells.take(id, takeOf(fine, 0)))[0]!
    assert.equal(level, 90_000_000 * 86_399_999, 'clamped')
    await cells.take(id, adjustBy(99_999_999 - 77_777_777))
    const seventh = levelsOf(await cells.take(id, takeOf(fine, 0)))[0]!.level
    assert.equal(BigInt(seventh), (77_777_777n * 86_400_000n * 86_399_999n) / 86_400_000n)
  },

  async 'changed parameters hold from the first take on, also where it is refused'({ cells, clock }) {
    const slow = bucket(1, 86_400_000, 1)
    await cells.take(id, takeOf(slow, 1))
    await clock.advance(86_400)
    assert.equal(await retryOf(cells, takeOf(per100, 1)), 600)
    await clock.advance(600)
    assert.ok((await cells.take(id, takeOf(per100, 1))).ok)
  },

  async 'an adjustment leaves the limits of the row as they are'({ cells }) {
    await cells.take(id, both(10, 10))
    await cells.take(id, {
      kind: 'adjust',
      costs: [
        { name: 'a', cost: 5 },
        { name: 'unknown', cost: 5 },
      ],
    })
    assert.deepEqual(levelsOf(await cells.take(id, both(0, 0))).map(available), [85, 9990])
  },

  async 'limits that cannot be counted are refused'({ cells }) {
    const limits = 'limits'
    for (const [limit, cost] of [
      [per100, -1],
      [per100, 0.5],
      [per100, Number.NaN],
      [bucket(0, 600, 1), 1],
      [bucket(100, 600, 0), 1],
      [bucket(100, 600, 0.5), 1],
      [bucket(2 ** 30, 2 ** 23, 1), 1],
      [bucket(1, 1, 1, 'a b'), 1],
      [bucket(1, 1, 1, 'a:b'), 1],
      [bucket(1, 1, 1, ''), 1],
    ] as const)
      assert.deepEqual(await cells.take(id, takeOf(limit, cost)), { ok: false, reason: limits })
    assert.deepEqual(await cells.take(id, takeAll([], [])), { ok: false, reason: limits })
    assert.deepEqual(await cells.take(id, takeAll([per100, per100], [1, 1])), { ok: false, reason: limits })
    assert.deepEqual(await cells.take(id, takeOf(per100, 1, Number.NaN)), { ok: false, reason: limits })
    assert.deepEqual(await cells.take(id, adjustBy(0.5)), { ok: false, reason: limits })
    assert.ok((await cells.take(id, takeOf(bucket(2 ** 30, 2 ** 23 - 1, 1), 1))).ok)
  },

  /** With many rounds (memory) the polls cover a month. */
  async 'a month of random polling admits exactly the credit'({ cells, clock, rounds }) {
    const limits = [bucket(10_000_000, 600, 1), daily, bucket(10_000_000, 60_000, 7, 'odd')]
    await cells.take(
      id,
      takeAll(
        limits,
        limits.map(({ capacity }) => capacity),
      ),
    )
    const start = clock.now()
    const taken = limits.map(() => 0)
    const stepMs = Math.floor(monthMs / (4 * rounds))
    for (let poll = 0; poll < 4 * rounds && clock.now() < start + monthMs; poll++) {
      clock.jump(clock.now() + wholeNumber(clock.random, 1, rounds >= 300 ? 2 * stepMs : 10_000))
      const costs = limits.map(() => wholeNumber(clock.random, 0, 60))
      if (!(await cells.take(id, takeAll(limits, costs))).ok) continue
      for (const [i, cost] of costs.entries()) taken[i]! += cost
    }
    const zero = limits.map(() => 0)
    const elapsed = clock.now() - start
    for (const [i, { level, unitsPerToken, creditPerMs, capacity }] of levelsOf(
      await cells.take(id, takeAll(limits, zero)),
    ).entries()) {
      assert.ok(level < capacity * unitsPerToken, 'credit beyond the capacity would not be counted')
      assert.equal(level + taken[i]! * unitsPerToken, elapsed * creditPerMs)
    }
  },
}
