/** Directory and replicas: in whatever order messages arrive, no thread reads a bucket that was never written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clocksIn, everything, paneOf, ReplicaRig } from '../../../test/rigs/replica-rig.ts'
import { SlowPacker } from '../../../test/rigs/slow-packer.ts'
import { pick, type Random, seededRandom, wholeNumber } from '../../testing/random.ts'
import { shapeOf } from '../../testing/store-laws-panes.ts'
import type { Replica } from './replica.ts'

const keys = ['a', 'b', 'c']

interface Trouble {
  readonly canRemove: boolean
  /** There are repeated pauses of more than a minute without reads. */
  readonly canRest: boolean
}

async function randomSteps(
  harness: ReplicaRig,
  random: Random,
  { canRemove, canRest }: Trouble,
): Promise<void> {
  const threads = harness.replicas.length
  const seen = harness.replicas.map(() => new Map<string, number>())
  // A thread then has only its own late write, until it reads.
  const canForget = canRemove || canRest
  for (let i = 0; i < 200; i++) {
    const thread = wholeNumber(random, 0, threads - 1)
    const { replica } = harness.replicas[thread]!
    const key = pick(random, keys)
    const chance = random()
    if (chance < 0.25) {
      await harness.clock.advance(1)
      const from = wholeNumber(random, 0, 40)
      const interval = { from, to: from + wholeNumber(random, 1, 20) }
      // Fetches land in another order than they were sent.
      const fetchedAt = harness.clock.now() - wholeNumber(random, 0, 5)
      assert.ok(replica.write('', key, { pane: paneOf(key, interval, fetchedAt), shape: shapeOf(key) }))
      const now = clocksIn(key, replica.look(key, interval))
      for (let bucket = interval.from; bucket < interval.to; bucket++)
        assert.ok(now.get(bucket)! >= fetchedAt, 'a write cannot be read')
    } else if (canRemove && chance < 0.3) void harness.memory.remove(key, { from: 10, to: 20 })
    else if (chance < 0.4) void replica.store('').read(key, everything)
    else if (canRest && chance < 0.5) await harness.clock.advance(70_000)
    else await harness.deliver(thread, pick(random, ['up', 'down'] as const))
    for (const [bucket, clock] of clocksIn(key, replica.look(key, everything))) {
      const before = seen[thread]!.get(`${key}${bucket}`) ?? 0
      assert.ok(canForget || clock >= before, 'a bucket became older')
      seen[thread]!.set(`${key}${bucket}`, clock)
    }
  }
}

const troubles: Readonly<Record<string, Trouble>> = {
  '': { canRemove: false, canRest: false },
  ', removals too': { canRemove: true, canRest: false },
  ', also compressed panes': { canRemove: false, canRest: true },
  ', also compressed panes, removals too': { canRemove: true, canRest: true },
}

for (const [name, trouble] of Object.entries(troubles)) {
  test(`replicas and memory agree once all messages have come${name}`, async () => {
    let packed = 0
    for (let seed = 1; seed <= (trouble.canRest ? 20 : 40); seed++) {
      const random = seededRandom(seed)
      const packer = trouble.canRest ? new SlowPacker(pick(random, [0, 2 ** 20])) : undefined
      const harness = new ReplicaRig(wholeNumber(random, 1, 3), packer && { packer })
      await randomSteps(harness, random, trouble)
      await harness.settle()
      for (const key of keys) {
        const stored = clocksIn(key, await harness.memory.peek!(key, everything))
        for (let thread = 0; thread < harness.replicas.length; thread++) {
          const { replica } = harness.replicas[thread]!
          const held = replica.look(key, everything)
          if (held !== undefined) assert.deepEqual(clocksIn(key, held), stored, `seed ${seed}`)
          assert.deepEqual(await harness.read(thread, key), stored, `seed ${seed}`)
        }
      }
      for (const { budget } of harness.replicas) assert.equal(budget.used, 0, `seed ${seed}`)
      packed += packer?.packed ?? 0
    }
    assert.equal(packed > 100, trouble.canRest, `${packed} packed`)
  })
}

test('the headers that came from another thread are frozen: all hits of a key get the same list', async () => {
  const rig = new ReplicaRig(2)
  const [writer, reader] = rig.replicas.map(({ replica }) => replica)
  const interval = { from: 0, to: 5 }
  writer!.write('', 'a', { pane: paneOf('a', interval, 999_000), shape: shapeOf('a') })
  const asked = Promise.resolve(reader!.store('').read('a', interval))
  await rig.settle()
  for (const found of [await asked, writer!.look('a', interval), reader!.look('a', interval)])
    assert.ok(Object.isFrozen(found!.shape.headers))
})

test('threads hold nothing that the main thread has compressed, and get it back at a read', async () => {
  for (const longestNow of [0, 2 ** 20]) {
    const packer = new SlowPacker(longestNow)
    const harness = new ReplicaRig(2, { packer })
    const [writer, reader] = harness.replicas.map(({ replica }) => replica)
    const pane = paneOf('a', { from: 0, to: 300 }, 999_000)
    writer!.write('', 'a', { pane, shape: shapeOf('a') })
    await harness.settle()
    const before = await harness.read(1, 'a')
    const seen = reader!.revisionOf('a')
    await harness.clock.advance(130_000)
    await harness.settle()
    assert.equal(packer.packed, 1)
    for (const replica of [writer, reader]) {
      assert.equal(replica!.look('a', everything), undefined)
      assert.equal(replica!.revisionOf('a'), 0)
    }
    assert.deepEqual(await harness.read(1, 'a'), before)
    assert.notEqual(reader!.revisionOf('a'), seen)
    assert.ok(!harness.directory.isNews('a', reader!.revisionOf('a')))
    assert.ok(harness.directory.isNews('a', writer!.revisionOf('a')))
    assert.deepEqual(await harness.read(0, 'a'), before)
    assert.equal(packer.unpacked, 1)
  }
})

test('a write to a compressed pane stays with its thread until the main thread has it', async () => {
  const packer = new SlowPacker(0)
  const harness = new ReplicaRig(1, { packer })
  const [{ replica, budget }] = harness.replicas as [ReplicaRig['replicas'][number]]
  const write = (from: number, to: number) =>
    replica.write('', 'a', { pane: paneOf('a', { from, to }, 999_000), shape: shapeOf('a') })
  write(0, 300)
  await harness.settle()
  await harness.read(0, 'a')
  // The main thread hears that it was read, and then nothing more.
  for (const ms of [2000, 70_000]) {
    await harness.clock.advance(ms)
    await harness.settle()
  }
  packer.isLetting = false
  write(300, 310)
  await harness.settle()
  assert.equal(packer.waiting, 1)
  assert.equal(clocksIn('a', replica.look('a', everything)).size, 10)
  packer.letGo()
  await harness.clock.advance(0)
  await harness.settle()
  assert.equal(clocksIn('a', replica.look('a', everything)).size, 310)
  assert.equal(budget.used, 0)
})

test('panes that threads read all the time are not compressed', async () => {
  const packer = new SlowPacker()
  const harness = new ReplicaRig(1, { packer })
  const [{ replica }] = harness.replicas as [ReplicaRig['replicas'][number]]
  replica.write('', 'a', { pane: paneOf('a', { from: 0, to: 300 }, 999_000), shape: shapeOf('a') })
  await harness.settle()
  for (let i = 0; i < 20; i++) {
    await harness.read(0, 'a')
    await harness.clock.advance(20_000)
    await harness.settle()
  }
  assert.equal(packer.packed, 0)
})

test('a body of a thread keeps its number, so that memoised values are found again', async () => {
  const harness = new ReplicaRig(2)
  const [writer, reader] = harness.replicas
  const pane = paneOf('a', { from: 0, to: 300 }, 999_000)
  writer!.replica.write('', 'a', { pane, shape: shapeOf('a') })
  await harness.settle()
  await harness.read(1, 'a')
  const idOf = (replica: Replica) => replica.look('a', everything)!.panes[0]!.body
  const before = idOf(reader!.replica)
  writer!.replica.write('', 'a', { pane: paneOf('a', { from: 500, to: 501 }, 999_500), shape: shapeOf('a') })
  await harness.settle()
  assert.equal(reader!.replica.look('a', everything)!.panes.length, 2)
  assert.equal(idOf(reader!.replica), before)
  assert.equal(idOf(writer!.replica).id, before.id)
})

test('a write that memory refuses is forgotten by its thread, and holds no memory', async () => {
  const harness = new ReplicaRig(1, { limit: 200_000 })
  const [{ replica, budget }] = harness.replicas as [ReplicaRig['replicas'][number]]
  assert.ok(
    replica.write('', 'a', { pane: paneOf('a', { from: 0, to: 4000 }, 999_000), shape: shapeOf('a') }),
  )
  assert.ok(replica.look('a', everything) !== undefined)
  await harness.settle()
  assert.equal(replica.look('a', everything), undefined)
  assert.equal(budget.used, 0)
})

test('recently read keys are reported, and are not evicted first', async () => {
  const harness = new ReplicaRig(1, { limit: 60_000 })
  const [{ replica }] = harness.replicas as [ReplicaRig['replicas'][number]]
  for (const key of keys) {
    replica.write('', key, { pane: paneOf(key, { from: 0, to: 300 }, 999_000), shape: shapeOf(key) })
    await harness.settle()
  }
  for (let second = 0; second < 6; second++) {
    await harness.read(0, 'a')
    await harness.clock.advance(1000)
    await harness.settle()
  }
  const isThere = (key: string) => harness.memory.peek!(key, everything) !== undefined
  for (let i = 0; i < 10 && isThere('a') && isThere('b'); i++) {
    const key = `n${i}`
    // New keys with three reads: more than keys without reads, fewer than the keys of a thread.
    for (let turn = 0; turn < 3; turn++) harness.memory.read(key, everything)
    harness.memory.write(key, { pane: paneOf(key, { from: 0, to: 300 }, 999_000), shape: shapeOf(key) })
  }
  assert.deepEqual([isThere('a'), isThere('b')], [true, false])
})

test('a thread that is gone is sent nothing more', async () => {
  const harness = new ReplicaRig(2)
  harness.replicas[0]!.replica.write('', 'a', {
    pane: paneOf('a', { from: 0, to: 3 }, 999_000),
    shape: shapeOf('a'),
  })
  await harness.settle()
  await harness.read(1, 'a')
  harness.directory.close(1)
  harness.memory.remove('a')
  await harness.clock.advance(0)
  assert.equal(harness.replicas[1]!.down.length, 0)
  assert.equal(harness.replicas[0]!.down.length, 1)
})
