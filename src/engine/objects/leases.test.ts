/** Leases and rows, by the vectors of the reference: whole numbers of seconds and milliseconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { countedRender, shown } from '../../testing/object-rig.ts'
import { commit } from './commit.ts'
import { objectCache } from './object-cache.ts'
import { termsMs } from './object-clocks.ts'
import { ObjectLease, ObjectLeases } from './object-lease.ts'
import { etagOf, lockId, metaId } from './object-names.ts'
import { ObjectRows, type Version } from './object-rows.ts'

const pk = 'TENANT#t#CACHE#k'

function rig(leaseMs = 30_000) {
  const clock = fakeClock(1_000_000)
  const cells = memoryCells({ clock })
  const leases = new ObjectLeases({ cells, clock, leaseMs, bufferSeconds: 10 })
  return { clock, cells, leases, rows: new ObjectRows(cells) }
}

async function acquired(leases: ObjectLeases): Promise<ObjectLease> {
  const lease = await leases.acquire(pk)
  assert.ok(lease instanceof ObjectLease, 'refused')
  return lease
}

const body = Buffer.from('body')
const version = (id: string, generatedAt: number): Version => ({
  ...{ id, generatedAt, status: 200, headers: [], tagHashes: [], bytes: body.length, chunks: 1 },
  ...{ terms: termsMs({ revalidateSeconds: 60 }), hasOwnTerms: false, generation: 0, collectAt: 10_000 },
  etag: etagOf(body),
})

for (const [seconds, expires, ttl] of [
  [30, 1030, 1040],
  [60, 1060, 1070],
] as const)
  test(`a lease of ${seconds} s at 1000 expires at ${expires}, and its row is collected at ${ttl}`, async () => {
    const { cells, leases } = rig(seconds * 1000)
    await acquired(leases)
    const lock = cells.get(lockId(pk), 1)
    assert.ok(lock && !(lock instanceof Promise))
    assert.deepEqual([lock.attributes?.['lease_expires_at'], lock.collectAt], [expires, ttl])
    assert.equal(lock.clocks.leaseUntil, expires * 1000)
  })

test('trap 5: a contender at 1000 is refused, even the holder itself; at 2000 it wins, and the old renewal is refused', async () => {
  const { clock, leases } = rig()
  const old = await acquired(leases)
  assert.deepEqual(await leases.acquire(pk), { token: (await leases.holder(pk))!.token, until: 1_030_000 })
  clock.jump(2_000_000)
  const next = await acquired(leases)
  assert.equal(await old.lookUp(), undefined)
  const holder = await leases.holder(pk)
  await clock.advance(10_000)
  assert.equal((await leases.holder(pk))?.token, holder?.token, 'the old one renewed')
  await old.release()
  assert.notEqual(await next.lookUp(), undefined, 'the old holder released a foreign lease')
})

test('a lease is renewed at a third of its length, and gone when it is released', async () => {
  const { clock, leases } = rig()
  const lease = await acquired(leases)
  await clock.advance(10_000)
  assert.equal((await leases.holder(pk))?.until, 1_040_000)
  await lease.release()
  assert.equal(await leases.holder(pk), undefined)
  assert.equal(clock.pending, 0)
})

test('a row has 1,000,000 ms, and after a commit another contender gets the lease at the same instant', async () => {
  const { clock, cells, leases, rows } = rig()
  const lease = await acquired(leases)
  assert.equal(
    await commit({ rows, clock, pk, object: { version: version('1', 1_000_000), body } }, lease),
    'done',
  )
  assert.equal((await rows.read(pk, clock.now()))?.current.generatedAt, 1_000_000)
  assert.equal((await cells.get(metaId(pk), 1))?.attributes?.['generated_at'], 1000)
  await acquired(leases)
})

test('trap 5: a commit after another has taken over is refused, and so is one whose own lease ran out', async () => {
  const { clock, leases, rows } = rig()
  const first = await acquired(leases)
  clock.jump(2_000_000)
  const object = { version: version('1', 1_000_000), body }
  assert.equal(await commit({ rows, clock, pk, object }, first), 'lost')
  const second = await acquired(leases)
  assert.equal(await commit({ rows, clock, pk, object }, first), 'lost')
  assert.equal(await rows.read(pk, clock.now()), undefined)
  assert.equal(
    await commit({ rows, clock, pk, object: { ...object, version: version('2', 2_000_000) } }, second),
    'done',
  )
})

test('caches on different stores keep their own objects', async () => {
  const clock = fakeClock()
  const [a, b] = [1, 2].map(() => objectCache(memoryCells({ clock }), { clock }))
  const render = countedRender()
  assert.equal(shown(await a!.get('k', render, { revalidateSeconds: 60 })), 'miss v1')
  assert.equal(shown(await b!.get('k', render, { revalidateSeconds: 60 })), 'miss v2')
})
