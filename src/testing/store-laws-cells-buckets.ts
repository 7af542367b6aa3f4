/** Laws of cells about one token bucket: its arithmetic, its clock and its lifetime; see test-store.ts. */
import assert from 'node:assert/strict'
import type { BucketLevel, BucketLimit, CellId, Cells, TakeOutcome, TokenTake } from '../stores/cells.ts'
import type { FakeClock } from './fake-clock.ts'
import type { CellLaw } from './test-store.ts'

export const id = { pk: 'T#a', sk: 'STATE' }

/** `capacity` tokens, of which `unitsPerToken` units each are credited at `creditPerMs`. */
export const bucket = (
  capacity: number,
  unitsPerToken: number,
  creditPerMs: number,
  name = 'a',
): BucketLimit => ({ name, capacity, unitsPerToken, creditPerMs })

/** Vectors are about 100 tokens per minute where they name no limit. */
export const per100 = bucket(100, 600, 1)

/** With a cost of 0 it reads the remaining tokens. */
export const takeOf = (
  limit: BucketLimit,
  cost: number,
  keepMs: number | 'forever' = 420_000,
): TokenTake => ({
  kind: cost === 0 ? 'peek' : 'take',
  limits: [{ ...limit, cost }],
  keepMs,
})

export const adjustBy = (cost: number, name = 'a') => ({ kind: 'adjust', costs: [{ name, cost }] }) as const

/** Whole tokens, rounded down. */
export const available = ({ level, unitsPerToken }: BucketLevel): number => Math.floor(level / unitsPerToken)

export function levelsOf(outcome: TakeOutcome): readonly BucketLevel[] {
  assert.ok('levels' in outcome, `refused: ${'reason' in outcome ? outcome.reason : ''}`)
  return outcome.levels
}

/** The remaining tokens of one limit, without taking. */
async function leftOf(cells: Cells, limit: BucketLimit, at: CellId = id): Promise<number> {
  return available(levelsOf(await cells.take(at, takeOf(limit, 0)))[0]!)
}

export async function retryOf(cells: Cells, take: TokenTake): Promise<number | undefined> {
  const outcome = await cells.take(id, take)
  assert.ok(!outcome.ok && 'exceeded' in outcome, 'it was not refused')
  return outcome.retryAfterMs
}

const isTaken = async (cells: Cells, take: TokenTake): Promise<boolean> => (await cells.take(id, take)).ok

const secondsLeft = (outcome: TakeOutcome, clock: FakeClock): number | 'never' | undefined => {
  assert.ok(outcome.ok)
  return typeof outcome.collectAt === 'number' ? outcome.collectAt - clock.now() / 1000 : outcome.collectAt
}

/** [instant in ms, tokens requested, whether they are granted, tokens left, wait in ms]: 5 tokens, one a second. */
const gcra: readonly (readonly [number, number, boolean, number, (number | 'never')?])[] = [
  [0, 6, false, 5, 'never'],
  ...[4, 3, 2, 1, 0].map((left) => [0, 1, true, left] as const),
  [0, 1, false, 0, 1000],
  [3000, 1, true, 2],
  [3100, 1, true, 1],
  [4000, 1, true, 1],
  [8000, 1, true, 4],
  [9500, 1, true, 4],
  [9500, 0, true, 4],
  [9500, 2, true, 2],
  [9500, 5, false, 2, 3000],
]

/** Limit, and how often it is polled: each poll writes the row. */
const polled: readonly (readonly [BucketLimit, number])[] = [
  [bucket(1_000, 60_000, 1), 59],
  [bucket(1_000, 86_400_000, 1), 10_000],
  [bucket(1_000, 864_000, 1), 1000],
  [bucket(1_000_000, 600, 1), 7],
  [bucket(10_000_000, 6, 1), 7],
  [bucket(1_000_000, 600, 1), 1000],
]

export const cellBucketLaws: Readonly<Record<string, CellLaw>> = {
  async 'a bucket begins full, is drained, and is refilled to the millisecond (100 per minute)'(context) {
    const { cells, clock } = context
    assert.equal(levelsOf(await cells.take(id, takeOf(per100, 100)))[0]!.level, 0)
    await clock.advance(599)
    assert.equal(await retryOf(cells, takeOf(per100, 1)), 1)
    await clock.advance(1)
    assert.ok(await isTaken(cells, takeOf(per100, 1)))
    await clock.advance(599)
    assert.ok(!(await isTaken(cells, takeOf(per100, 1))))
    await clock.advance(1)
    assert.ok(await isTaken(cells, takeOf(per100, 1)))
  },

  async 'a burst above the rate is refilled at the rate, up to the capacity (10k per minute, 15k at once)'(
    context,
  ) {
    const { cells, clock } = context
    const burst = bucket(15_000, 6, 1)
    await cells.take(id, takeOf(burst, 15_000))
    for (const [ms, left] of [
      [60_000, 10_000],
      [30_000, 15_000],
      [30_000, 15_000],
    ] as const) {
      await clock.advance(ms)
      assert.equal(await leftOf(cells, burst), left)
    }
  },

  async 'more than a bucket can hold is never had'({ cells }) {
    assert.equal(await retryOf(cells, takeOf(per100, 101)), undefined)
    await cells.take(id, takeOf(per100, 100))
    assert.equal(await retryOf(cells, takeOf(per100, 101)), undefined)
  },

  async 'credit reduces debt, and ends at the capacity (100k per minute)'({ cells, clock, another }) {
    const limit = bucket(100_000, 3, 5)
    for (const [start, ms, left] of [
      [0, 0, 0],
      [0, 30_000, 50_000],
      [0, 120_000, 100_000],
      [-50_000, 30_000, 0],
      [-100_000, 30_000, -50_000],
    ] as const) {
      const own = await another()
      await own.take(id, takeOf(limit, 1))
      await own.take(id, adjustBy(limit.capacity - 1 - start))
      assert.equal(await leftOf(own, limit), start)
      await clock.advance(ms)
      assert.equal(await leftOf(own, limit), left)
    }
    await cells.take(id, takeOf(per100, 100))
    await clock.advance(1000)
    assert.equal(levelsOf(await cells.take(id, takeOf(per100, 0)))[0]!.level, 1000, '1.666… tokens')
  },

  async 'an adjustment takes more than the remaining tokens, and returns no more than the capacity'({
    cells,
  }) {
    const limit = bucket(100_000, 3, 5)
    await cells.take(id, takeOf(limit, 50_000))
    assert.equal(await leftOf(cells, limit), 50_000)
    await cells.take(id, takeOf(limit, 50_000))
    assert.equal(await leftOf(cells, limit), 0)
    await cells.take(id, adjustBy(50_000))
    assert.equal(await leftOf(cells, limit), -50_000)
    await cells.take(id, adjustBy(-200_000))
    assert.equal(await leftOf(cells, limit), 100_000)
  },

  async 'the wait is exact'({ another }) {
    for (const [limit, taken, cost, ms] of [
      [bucket(100_000, 3, 5), 10_000, 100_000, 6000],
      [bucket(100_000, 3, 5), 100_000, 100_000, 60_000],
      [per100, 100, 1, 600],
      [bucket(1, 86_400_000, 1), 1, 1, 86_400_000],
    ] as const) {
      const cells = await another()
      await cells.take(id, takeOf(limit, taken))
      assert.equal(await retryOf(cells, takeOf(limit, cost)), ms)
    }
  },

  async 'a drained bucket admits as soon as its refill does, and not before'({ cells, clock }) {
    await cells.take(id, takeOf(per100, 100))
    await clock.advance(1000)
    assert.ok(!(await isTaken(cells, takeOf(per100, 100))))
    await clock.advance(29_000)
    assert.ok(await isTaken(cells, takeOf(per100, 10)))
    const quick = bucket(100, 10, 1, 'quick')
    await cells.take(id, takeOf(quick, 100))
    assert.equal(await retryOf(cells, takeOf(quick, 50)), 500)
    await clock.advance(1100)
    assert.ok(await isTaken(cells, takeOf(quick, 50)))
  },

  async 'the table of the GCRA holds: 5 tokens, one a second'({ cells, clock }) {
    const limit = bucket(5, 1000, 1)
    const start = clock.now()
    for (const [at, cost, isHad, left, wait] of gcra) {
      clock.jump(start + at)
      const outcome = await cells.take(id, takeOf(limit, cost))
      assert.ok('levels' in outcome)
      assert.deepEqual([outcome.ok, available(outcome.levels[0]!)], [isHad, left], `${at}: ${cost}`)
      if (!outcome.ok) assert.equal(outcome.retryAfterMs ?? 'never', wait)
    }
  },

  async 'a bucket that outlived its clock is refilled, not forgotten'({ cells, clock }) {
    const start = clock.now()
    await cells.take(id, takeOf(per100, 100, 1000))
    await cells.take(id, adjustBy(200))
    // The rows of this node are collected at a time that the clock of another has not reached.
    clock.jump(start + 240_000)
    assert.ok(await isTaken(cells, takeOf(per100, 100)))
    clock.jump(start + 60_000)
    assert.equal(await leftOf(cells, per100), 0)
  },

  async 'a clock that goes back credits nothing, and nothing twice'({ cells, clock }) {
    const start = clock.now()
    await cells.take(id, takeOf(per100, 100))
    clock.jump(start - 60_000)
    assert.ok(!(await isTaken(cells, takeOf(per100, 1))))
    await cells.take(id, adjustBy(1))
    clock.jump(start + 600)
    assert.equal(await leftOf(cells, per100), 0)
  },

  async 'an adjustment of a bucket that is gone creates nothing'({ cells }) {
    for (const cost of [5, -5]) await cells.take(id, adjustBy(cost))
    assert.deepEqual(await cells.take(id, adjustBy(1)), { ok: true, levels: [] })
    const peek = await cells.take(id, takeOf(per100, 0))
    assert.ok(peek.ok && peek.collectAt === undefined, 'nor does a look')
    await cells.take(id, takeOf(per100, 1))
    assert.ok(await cells.remove(id, { is: 'expired', deadline: 'leaseUntil' }))
    await cells.take(id, adjustBy(50))
    assert.equal(await leftOf(cells, per100), 100)
  },

  async 'a take of nothing creates the bucket, so that adjustments reach it'({ cells }) {
    assert.ok((await cells.take(id, { ...takeOf(per100, 0), kind: 'take' })).ok)
    await cells.take(id, adjustBy(5))
    assert.equal(await leftOf(cells, per100), 95)
  },

  async 'a bucket is kept until it is full, debt included, and never for 0 seconds'({ cells, clock }) {
    const limit = bucket(1000, 60, 1)
    assert.equal(secondsLeft(await cells.take(id, takeOf(limit, 1000)), clock), 420)
    assert.equal(secondsLeft(await cells.take(id, adjustBy(10_000)), clock), 660)
    assert.equal(secondsLeft(await cells.take(id, adjustBy(-10_000)), clock), 660, 'it is not shortened')
    const single = bucket(1, 60, 1)
    assert.equal(secondsLeft(await cells.take({ ...id, sk: 'b' }, takeOf(single, 1, 0)), clock), 1)
  },

  async 'a bucket without a ttl gets one, and the other way round, also where it refuses'({ cells, clock }) {
    assert.equal(secondsLeft(await cells.take(id, takeOf(per100, 90, 'forever')), clock), 'never')
    assert.equal(secondsLeft(await cells.take(id, adjustBy(5)), clock), 'never')
    assert.equal(secondsLeft(await cells.take(id, takeOf(per100, 1)), clock), 420)
    assert.ok(!(await isTaken(cells, takeOf(per100, 50, 'forever'))))
    assert.equal(secondsLeft(await cells.take(id, takeOf(per100, 0)), clock), 'never')
    assert.ok(!(await isTaken(cells, takeOf(per100, 50))))
    assert.equal(secondsLeft(await cells.take(id, takeOf(per100, 0)), clock), 420)
  },

  async 'no credit is lost or gained, however often and however short a bucket is polled'(context) {
    const { clock, rounds, another } = context
    const counter = bucket(1_000_000, 1, 1, 'polls')
    const cells = await another()
    for (const [i, [limit, everyMs]] of polled.entries()) {
      const at = { pk: id.pk, sk: `row ${i}` }
      const poll = (cost: number): TokenTake => ({
        ...{ kind: 'take', keepMs: 'forever' },
        limits: [
          { ...limit, cost },
          { ...counter, cost: 1 },
        ],
      })
      await cells.take(at, poll(limit.capacity))
      const start = clock.now()
      for (let polls = 0; polls < 2 * rounds; polls++) {
        clock.jump(clock.now() + everyMs)
        await cells.take(at, poll(0))
      }
      const [{ level }] = levelsOf(await cells.take(at, takeOf(limit, 0))) as [BucketLevel]
      assert.equal(level, (clock.now() - start) * limit.creditPerMs)
    }
  },
}
