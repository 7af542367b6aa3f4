/** Laws for any limits, any times and any concurrency. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { limiterRig, networks } from '../../test/rigs/limiter-rig.ts'
import { bucketTtlSeconds } from './bucket-ttl.ts'
import type { Limit, Permit } from './limit.ts'

const limitOf = (name: string): fc.Arbitrary<Limit> =>
  fc.record({
    name: fc.constant(name),
    capacity: fc.integer({ min: 1, max: 200 }),
    refillAmount: fc.integer({ min: 1, max: 500 }),
    refillPeriodSeconds: fc.constantFrom(1, 7, 60, 3600),
  })
const limitsArbitrary = fc.tuple(limitOf('a'), limitOf('b'))
const asked = { entity: 'e', resource: 'r' }

/** A step waits, then sends some requests at once. */
const steps = fc.array(
  fc.record({
    waitMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 20_000 })),
    costs: fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 40 })), {
      maxLength: 4,
    }),
  }),
  { minLength: 1, maxLength: 25 },
)

interface Admission {
  readonly at: number
  readonly tokens: Readonly<Record<string, number>>
}

/** No window may admit more than the capacity plus the credit of the window. */
function checkWindows(limit: Limit, history: readonly Admission[]): void {
  for (let first = 0; first < history.length; first++) {
    let sum = 0
    for (let last = first; last < history.length; last++) {
      sum += history[last]!.tokens[limit.name] ?? 0
      const ms = history[last]!.at - history[first]!.at
      const allowed = limit.capacity + (ms * limit.refillAmount) / (limit.refillPeriodSeconds * 1000)
      assert.ok(sum <= allowed + 1e-9, `${sum} of ${allowed} in ${ms} ms`)
    }
  }
}

for (const network of networks)
  describe(`properties, ${network}`, () => {
    const runs = { numRuns: 60 }

    test('no window admits more than capacity and refill, shards included', async () => {
      const shards = fc.integer({ min: 1, max: 5 })
      await fc.assert(
        fc.asyncProperty(limitsArbitrary, steps, shards, fc.nat(), async (limits, steps, shards, seed) => {
          const { clock, limiter } = limiterRig(network, seed)
          const own = limiter({ shards })
          const history: Admission[] = []
          for (const { waitMs, costs } of steps) {
            clock.jump(clock.now() + waitMs)
            const outcomes = await Promise.all(
              costs.map(([a, b]) => own.acquire({ ...asked, consume: { a, b }, limits })),
            )
            for (const [i, { ok }] of outcomes.entries())
              if (ok) history.push({ at: clock.now(), tokens: { a: costs[i]![0], b: costs[i]![1] } })
          }
          for (const limit of limits) checkWindows(limit, history)
        }),
        runs,
      )
    })

    test('of N takers at once exactly as many are admitted as the scarcest limit has tokens', async () => {
      await fc.assert(
        fc.asyncProperty(limitsArbitrary, fc.integer({ min: 1, max: 60 }), async (limits, takers) => {
          const own = limiterRig(network).limiter()
          const outcomes = await Promise.all(
            Array.from({ length: takers }, () => own.acquire({ ...asked, consume: { a: 2, b: 3 }, limits })),
          )
          const most = Math.min(Math.floor(limits[0].capacity / 2), Math.floor(limits[1].capacity / 3))
          assert.equal(outcomes.filter(({ ok }) => ok).length, Math.min(takers, most))
        }),
        runs,
      )
    })

    test('the remaining tokens are the earlier ones plus credit minus takes: refusals take nothing', async () => {
      await fc.assert(
        fc.asyncProperty(limitsArbitrary, steps, fc.nat(), async (limits, steps, seed) => {
          const { clock, limiter, entities } = limiterRig(network, seed)
          const own = limiter()
          entities.set('e', { source: 'system', limits })
          // Exact, in tokens times the period in ms.
          const period = limits.map(({ refillPeriodSeconds }) => refillPeriodSeconds * 1000)
          const model = limits.map(({ capacity }, i) => capacity * period[i]!)
          for (const { waitMs, costs } of steps) {
            clock.jump(clock.now() + waitMs)
            for (const [i, limit] of limits.entries())
              model[i] = Math.min(limit.capacity * period[i]!, model[i]! + waitMs * limit.refillAmount)
            for (const pair of costs) {
              const isPossible = pair.every((cost, i) => cost === 0 || cost * period[i]! <= model[i]!)
              const { ok } = await own.acquire({ ...asked, consume: { a: pair[0], b: pair[1] } })
              assert.equal(ok, isPossible)
              if (ok) for (const [i, cost] of pair.entries()) model[i]! -= cost * period[i]!
            }
            const { limits: left } = (await own.status('e', 'r'))!
            assert.deepEqual(
              left.map(({ available }) => available),
              model.map((level, i) => Math.floor(level / period[i]!)),
            )
          }
        }),
        runs,
      )
    })

    test('refunds in any order leave the bucket as it would be without the requests', async () => {
      await fc.assert(
        fc.asyncProperty(
          limitsArbitrary,
          fc.array(fc.integer({ min: -3, max: 9 })),
          async (limits, deltas) => {
            const { limiter, entities } = limiterRig(network)
            const own = limiter({ shards: 3 })
            entities.set('e', { source: 'system', limits })
            const outcomes = await Promise.all(
              deltas.map(() => own.acquire({ ...asked, consume: { a: 1, b: 1 } })),
            )
            const permits = outcomes.filter((outcome): outcome is Permit => outcome.ok)
            await Promise.all(permits.map((permit, i) => permit.adjust({ a: deltas[i]! })))
            await Promise.all(permits.toReversed().map((permit) => permit.refund()))
            const left = (await own.status('e', 'r'))!.limits.map(({ available }) => available)
            assert.deepEqual(
              left,
              limits.map(({ capacity }) => capacity),
            )
          },
        ),
        runs,
      )
    })

    test('the row lives until every limit is full again, debt included', async () => {
      await fc.assert(
        fc.asyncProperty(limitsArbitrary, fc.integer({ min: 0, max: 5000 }), async (limits, debt) => {
          const { clock, limiter, entities } = limiterRig(network)
          const own = limiter({ multiplier: 0.001 })
          entities.set('e', { source: 'resource', limits })
          const outcome = await own.acquire({ ...asked, consume: { a: 1 } })
          assert.ok(outcome.ok)
          await outcome.adjust({ a: debt })
          const { ttl } = (await own.status('e', 'r'))!
          const least = bucketTtlSeconds(limits, {
            ...{ source: 'resource', multiplier: 0.001 },
            level: { a: limits[0].capacity - 1 - debt },
          })
          assert.equal(((ttl as number) - clock.now()) / 1000, least)
          clock.jump(ttl as number)
          const left = (await own.status('e', 'r'))!.limits.map(({ available }) => available)
          assert.deepEqual(
            left,
            limits.map(({ capacity }) => capacity),
          )
        }),
        runs,
      )
    })
  })
