import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limiterRig, mustPermit, mustRefuse, networks, perMinute } from '../../test/rigs/limiter-rig.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { AcquireRequest } from './limit.ts'
import { limiter } from './limiter.ts'

const rpm = perMinute('rpm', 100)
const tpm = perMinute('tpm', 10_000)
const limits = [rpm, tpm]
const ask = (consume: Readonly<Record<string, number>>, given: Partial<AcquireRequest> = {}) => ({
  ...{ entity: 'a', resource: 'main', consume, limits },
  ...given,
})
/** As the resolver knows them. */
const { limits: _, ...asked } = ask({ rpm: 1 })

for (const network of networks)
  describe(`limiter, ${network}`, () => {
    test('a permit has the remaining tokens, a refusal the reason and the time to wait', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      const permit = mustPermit(await own.acquire(ask({ rpm: 60, tpm: 9000 })))
      assert.equal(permit.source, 'override')
      assert.deepEqual(permit.limits, [
        { limit: rpm, available: 40, isExceeded: false },
        { limit: tpm, available: 1000, isExceeded: false },
      ])
      assert.deepEqual(mustRefuse(await own.acquire(ask({ rpm: 1, tpm: 2001 }))), {
        ...{ ok: false, cause: 'exceeded', retryAfterSeconds: 6.006, source: 'override' },
        limits: [
          { limit: rpm, available: 40, isExceeded: false },
          { limit: tpm, available: 1000, isExceeded: true },
        ],
      })
    })

    test('more than the capacity is refused as never, without a time', async () => {
      const refusal = mustRefuse(
        await limiterRig(network)
          .limiter()
          .acquire(ask({ rpm: 101 })),
      )
      assert.equal(refusal.cause, 'never')
      assert.ok(!('retryAfterSeconds' in refusal))
    })

    test('an estimate is adjusted once the cost is known, and may lead into debt', async () => {
      const rig = limiterRig(network)
      rig.entities.set('a', { source: 'system', limits })
      const own = rig.limiter()
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1, tpm: 500 } }))
      await permit.adjust({ tpm: 1500 })
      assert.equal((await own.status('a', 'main'))?.limits[1]?.available, 8000)
      await permit.adjust({ tpm: -1000 })
      assert.equal((await own.status('a', 'main'))?.limits[1]?.available, 9000)
      await permit.adjust({ tpm: 20_000 })
      assert.equal((await own.status('a', 'main'))?.limits[1]?.available, -11_000)
      const refusal = mustRefuse(await own.acquire({ ...asked, consume: { tpm: 1 } }))
      assert.equal(refusal.retryAfterSeconds, 66.006)
    })

    test('a refund gives back everything, once; an adjustment after it does nothing', async () => {
      const rig = limiterRig(network)
      rig.entities.set('a', { source: 'system', limits })
      const own = rig.limiter()
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 10, tpm: 1000 } }))
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1, tpm: 500 } }))
      const adjusted = permit.adjust({ tpm: 100 })
      await Promise.all([adjusted, permit.refund(), permit.refund(), permit.adjust({ rpm: 50 })])
      const left = (await own.status('a', 'main'))?.limits.map(({ available }) => available)
      assert.deepEqual(left, [90, 9000])
    })

    test('a permit gives back no more than it took', async () => {
      const rig = limiterRig(network)
      rig.entities.set('a', { source: 'system', limits })
      const own = rig.limiter()
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 50 } }))
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      await permit.adjust({ rpm: -30, tpm: -5 })
      await permit.refund()
      assert.equal((await own.status('a', 'main'))?.limits[0]?.available, 50)
    })

    test('a request that consumes nothing yet can be charged later', async () => {
      const rig = limiterRig(network)
      rig.entities.set('a', { source: 'system', limits })
      const permit = mustPermit(await rig.limiter().acquire({ ...asked, consume: {} }))
      await permit.adjust({ rpm: 3 })
      assert.equal((await rig.limiter().status('a', 'main'))?.limits[0]?.available, 97)
    })

    test('an entity without limits gets a permit that is not counted', async () => {
      const rig = limiterRig(network)
      const permit = mustPermit(await rig.limiter().acquire(asked))
      assert.deepEqual([permit.source, permit.isDegraded, permit.limits], [undefined, undefined, []])
      assert.equal(await rig.limiter().status('a', 'main'), undefined)
      rig.entities.set('a', { source: 'entity', limits: [] })
      assert.ok(mustPermit(await rig.limiter().acquire(asked)).source === undefined)
    })

    test('status has the source of limits, the remaining tokens, and the collection time of the row', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'resource', limits: [rpm] })
      const start = rig.clock.now()
      const full = { limit: rpm, available: 100, isExceeded: false }
      assert.deepEqual(await own.status('a', 'main'), {
        ...{ source: 'resource', limits: [full], ttl: start + 420_000 },
      })
      mustPermit(await own.acquire(asked))
      await rig.clock.advance(300)
      assert.deepEqual(await own.status('a', 'main'), {
        ...{ source: 'resource', limits: [{ ...full, available: 99 }], ttl: start + 420_000 },
      })
    })

    test('limits of the entity itself remove the ttl, and falling back to others sets it', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      const ttl = async () => (await own.status('a', 'main'))?.ttl
      rig.entities.set('a', { source: 'system', limits: [rpm] })
      mustPermit(await own.acquire(asked))
      assert.equal(await ttl(), rig.clock.now() + 420_000)
      rig.entities.set('a', { source: 'entity', limits: [rpm] })
      mustPermit(await own.acquire(asked))
      assert.equal(await ttl(), 'none')
      rig.entities.set('a', { source: 'entity_default', limits: [rpm] })
      mustPermit(await own.acquire(asked))
      assert.equal(await ttl(), rig.clock.now() + 420_000)
    })

    test('while the store fails requests are allowed with a marked permit, or refused', async () => {
      const rig = limiterRig(network)
      rig.state.isDown = true
      const permit = mustPermit(await rig.limiter().acquire(ask({ rpm: 1 })))
      assert.ok(permit.isDegraded)
      await permit.adjust({ rpm: 1 })
      await permit.refund()
      const blocking = rig.limiter({ onUnavailable: 'block' })
      assert.deepEqual(await blocking.acquire(ask({ rpm: 1 })), {
        ...{ ok: false, cause: 'unavailable', limits: [] },
      })
      rig.state.isDown = false
      assert.equal(mustPermit(await rig.limiter().acquire(ask({ rpm: 1 }))).limits[0]?.available, 99)
    })

    test('a resolver that fails, or returns limits that cannot be counted, counts as unavailable', async () => {
      const rig = limiterRig(network)
      for (const resolve of [
        () => Promise.reject(new Error('down')),
        () => {
          throw new Error('down')
        },
        () => ({ source: 'system', limits: [{ ...rpm, capacity: 0 }] }) as const,
      ]) {
        const own = rig.limiter({ resolver: { resolve }, onUnavailable: 'block' })
        assert.equal(mustRefuse(await own.acquire(asked)).cause, 'unavailable')
      }
    })

    test('a parent is taken from as well, and a child that it refuses gets its tokens back', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'entity', limits, parent: 'org' })
      rig.entities.set('org', { source: 'entity', limits: [perMinute('rpm', 5)] })
      for (let i = 0; i < 5; i++) mustPermit(await own.acquire(asked))
      const refusal = mustRefuse(await own.acquire(asked))
      assert.deepEqual(
        refusal.limits.map(({ limit, isExceeded }) => [limit.capacity, isExceeded]),
        [[5, true]],
      )
      assert.equal((await own.status('a', 'main'))?.limits[0]?.available, 95)
    })

    test('adjustments and refunds reach the parent, as far as it has such limits', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'entity', limits, parent: 'org' })
      rig.entities.set('org', { source: 'entity', limits: [perMinute('tpm', 5000)] })
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1, tpm: 10 } }))
      await permit.adjust({ rpm: 5, tpm: 90 })
      const left = async (entity: string) =>
        (await own.status(entity, 'main'))?.limits.map(({ available }) => available)
      assert.deepEqual([await left('a'), await left('org')], [[94, 9900], [4900]])
      await permit.refund()
      assert.deepEqual([await left('a'), await left('org')], [[100, 10_000], [5000]])
    })

    test('where the store fails for the parent, the child is given its tokens back', async () => {
      const rig = limiterRig(network)
      rig.entities.set('a', { source: 'entity', limits: [rpm], parent: 'org' })
      rig.entities.set('org', { source: 'entity', limits: [rpm] })
      const { cells } = rig
      const take: typeof cells.take = (id, take) =>
        id.pk.includes('org') ? { ok: false, reason: 'unavailable' } : cells.take(id, take)
      const own = limiter(Object.assign(Object.create(cells), { take }), {
        ...{ clock: rig.clock, onUnavailable: 'block', resolver: { resolve: (e) => rig.entities.get(e) } },
      })
      assert.equal(mustRefuse(await own.acquire(asked)).cause, 'unavailable')
      assert.equal((await rig.limiter().status('a', 'main'))?.limits[0]?.available, 100)
    })

    test('mistakes in the program are thrown before anything is touched', () => {
      const own = limiterRig(network).limiter()
      for (const bad of [
        ask({ rpm: -1 }),
        ask({ rpm: 0.5 }),
        ask({ rpm: Number.NaN }),
        ask({ other: 1 }),
        ask({ rpm: 1 }, { limits: [] }),
        ask({ rpm: 1 }, { limits: [rpm, { ...tpm, capacity: 0 }] }),
        ask({ rpm: 1 }, { entity: '' }),
        ask({ rpm: 1 }, { entity: 'a#b' }),
        ask({ rpm: 1 }, { entity: 'a\0b' }),
        ask({ rpm: 1 }, { resource: 'a#b' }),
        ask({ rpm: 1 }, { resource: '_default_' }),
      ])
        assert.throws(() => own.acquire(bad), WindowpaneError)
    })
  })

test('where the cells are in this process nothing is waited for', () => {
  const rig = limiterRig()
  rig.entities.set('a', { source: 'entity', limits, parent: 'org' })
  rig.entities.set('org', { source: 'entity', limits: [rpm] })
  const own = rig.limiter({ shards: 2 })
  const permit = own.acquire(asked)
  assert.ok(!(permit instanceof Promise) && permit.ok)
  assert.equal(permit.adjust({ rpm: 1 }), undefined)
  assert.equal(permit.refund(), undefined)
  assert.ok(!(own.status('a', 'main') instanceof Promise))
})

test('without a resolver a request must bring its limits', () => {
  const { cells } = limiterRig()
  assert.throws(() => limiter(cells).acquire(asked), /no resolver/)
  assert.equal(limiter(cells).status('a', 'main'), undefined)
  for (const options of [{ shards: 0 }, { shards: 1.5 }, { multiplier: Number.NaN }, { jitterSeconds: -1 }])
    assert.throws(() => limiter(cells, options), WindowpaneError)
})

test('jitter keeps rows longer, never shorter', async () => {
  const rig = limiterRig()
  const own = rig.limiter({ jitterSeconds: 300 })
  rig.entities.set('a', { source: 'system', limits: [rpm] })
  mustPermit(await own.acquire(asked))
  const { ttl } = (await own.status('a', 'main'))!
  assert.ok(typeof ttl === 'number')
  const seconds = (ttl - rig.clock.now()) / 1000
  assert.ok(seconds > 420 && seconds <= 720)
})
