/** Mistakes that other limiters make, one test each, and the vectors of a limiter over its whole way. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limiterRig, mustPermit, mustRefuse, networks, perMinute } from '../../test/rigs/limiter-rig.ts'
import type { Limiter } from './limit.ts'

const rpm = perMinute('rpm', 100)
const tpm = perMinute('tpm', 10_000)
const asked = { entity: 'a', resource: 'main' }

async function left(own: Limiter, entity = 'a', resource = 'main'): Promise<readonly number[]> {
  return (await own.status(entity, resource))!.limits.map(({ available }) => available)
}

for (const network of networks)
  describe(`traps, ${network}`, () => {
    test('one clock for several limits loses no refill of limits without a take', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [rpm, tpm] })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 100, tpm: 9500 } }))
      for (let second = 0; second < 30; second++) {
        await rig.clock.advance(1000)
        mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      }
      assert.deepEqual(await left(own), [20, 5500])
    })

    test('polls that are shorter than one credit lose nothing and gain nothing (1 a minute, 59 ms)', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      const slow = perMinute('slow', 1, 100)
      rig.entities.set('a', { source: 'system', limits: [slow, perMinute('polls', 60_000, 1_000_000)] })
      mustPermit(await own.acquire({ ...asked, consume: { slow: 100 } }))
      const start = rig.clock.now()
      while (rig.clock.now() < start + 600_000) {
        rig.clock.jump(rig.clock.now() + 59)
        mustPermit(await own.acquire({ ...asked, consume: { polls: 1 } }))
      }
      assert.equal((await left(own))[0], 10)
    })

    test('the row refills by itself: an entity that takes one a second is never refused', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      const limits = [perMinute('rpm', 60)]
      for (let second = 0; second < 1000; second++) {
        mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 }, limits }))
        rig.clock.jump(rig.clock.now() + 1000)
      }
    })

    test('adjustments and refunds of a sharded entity reach the shard that was charged', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter({ shards: 8 })
      rig.entities.set('a', { source: 'system', limits: [rpm] })
      const permits = []
      for (let i = 0; i < 40; i++)
        permits.push(mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } })))
      const peeks = () => Promise.all(Array.from({ length: 8 }, (_, i) => rowOf(rig.cells, i)))
      const before = await peeks()
      const last = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      await last.adjust({ rpm: 3 })
      const after = await peeks()
      assert.equal(after.filter((level, i) => level !== before[i]).length, 1)
      await last.refund()
      assert.deepEqual(await peeks(), before)
      for (const permit of permits) await permit.refund()
      assert.deepEqual(await left(own), [100])
    })

    test('a late adjustment of a row that was collected creates no row, and breaks nothing', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [rpm] })
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      assert.ok(await rig.cells.remove(rowId(0), { is: 'expired', deadline: 'leaseUntil' }))
      await permit.adjust({ rpm: 50 })
      assert.equal(await rig.cells.get(rowId(0), 2), undefined)
      await permit.refund()
      assert.deepEqual(await left(own), [100])
    })

    test('debt outlives the usual ttl: 1000 a minute, 10 000 owed', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [perMinute('rpm', 1000)] })
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 1000 } }))
      await permit.adjust({ rpm: 10_000 })
      assert.equal((await own.status('a', 'main'))?.ttl, rig.clock.now() + 660_000)
      rig.clock.jump(rig.clock.now() + 599_000)
      assert.equal(mustRefuse(await own.acquire({ ...asked, consume: { rpm: 1 } })).retryAfterSeconds, 1.06)
    })

    test('a ttl that computes to less than a second is a second, not "none"', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [perMinute('rpm', 1000, 1)] })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      assert.equal((await own.status('a', 'main'))?.ttl, rig.clock.now() + 1000)
    })

    test('limits that change at any level reach live buckets', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [perMinute('rpm', 10)] })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 10 } }))
      rig.entities.set('a', { source: 'resource', limits: [perMinute('rpm', 600)] })
      assert.equal(mustRefuse(await own.acquire({ ...asked, consume: { rpm: 1 } })).retryAfterSeconds, 0.1)
      await rig.clock.advance(100)
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      const limits = [perMinute('rpm', 6)]
      await rig.clock.advance(60_000)
      assert.equal(
        mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 }, limits })).limits[0]?.available,
        5,
      )
    })

    test('a limit that is added to a live bucket begins at its capacity', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [rpm] })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 100 } }))
      rig.entities.set('a', { source: 'system', limits: [rpm, tpm] })
      mustPermit(await own.acquire({ ...asked, consume: { tpm: 10_000 } }))
      assert.deepEqual(await left(own), [0, 0])
    })

    test('a parent that an entity gets after its first request is taken from', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('org', { source: 'entity', limits: [perMinute('rpm', 1)] })
      rig.entities.set('a', { source: 'entity', limits: [rpm] })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      rig.entities.set('a', { source: 'entity', limits: [rpm], parent: 'org' })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 1 } }))
      mustRefuse(await own.acquire({ ...asked, consume: { rpm: 1 } }))
    })

    test('a cancelled task refunds, also while its adjustment is under way', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [rpm] })
      const cancelled = new AbortController()
      const task = async (): Promise<void> => {
        const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 10 } }))
        try {
          void permit.adjust({ rpm: 5 })
          cancelled.abort()
          cancelled.signal.throwIfAborted()
        } catch (error) {
          await permit.refund()
          throw error
        }
      }
      await assert.rejects(task(), { name: 'AbortError' })
      assert.deepEqual(await left(own), [100])
    })

    test('a wait is not cut to less than it takes', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      const limits = [perMinute('rpm', 100_000)]
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 100_000 }, limits }))
      for (const [cost, seconds] of [
        [10_000, 6],
        [100_000, 60],
        [1, 0.001],
      ] as const) {
        const refusal = mustRefuse(await own.acquire({ ...asked, consume: { rpm: cost }, limits }))
        assert.equal(refusal.retryAfterSeconds, seconds)
      }
    })

    test('an adjustment that fails keeps the taken tokens, and throws nothing', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      rig.entities.set('a', { source: 'system', limits: [rpm] })
      mustPermit(await own.acquire({ ...asked, consume: { rpm: 60 } }))
      const permit = mustPermit(await own.acquire({ ...asked, consume: { rpm: 10 } }))
      rig.state.isDown = true
      await permit.adjust({ rpm: 20 })
      rig.state.isDown = false
      assert.deepEqual(await left(own), [30])
      await permit.refund()
      assert.deepEqual(await left(own), [40], 'nor are tokens returned that were not taken')
    })

    test('entities whose names run into each other have rows of their own', async () => {
      const rig = limiterRig(network)
      const own = rig.limiter()
      const long = 'x'.repeat(300)
      const names = ['a', 'A', 'a:B:main', 'a ', '::1', 'ü', 'u\u0308', long, `${long}y`, '%23', 'a%23B']
      for (const entity of names)
        for (const resource of ['main', 'main/0', 'main/b'])
          mustPermit(await own.acquire({ entity, resource, consume: { rpm: 100 }, limits: [rpm] }))
    })
  })

const rowId = (shard: number) => ({ pk: `T#a#B#main#${shard}`, sk: 'STATE' })

async function rowOf(
  cells: ReturnType<typeof limiterRig>['cells'],
  shard: number,
): Promise<number | undefined> {
  return (await cells.get(rowId(shard), 2))?.levels?.[0]?.level
}
