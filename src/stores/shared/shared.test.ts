/** Directory and replicas: whatever messages do on their way, nobody reads a bucket that was never written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../core/budget.ts'
import type { Interval } from '../../core/interval.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import { PaneBuilder } from '../../core/pane-builder.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { pick, type Random, seededRandom, wholeNumber } from '../../testing/random.ts'
import { memoryStore } from '../memory.ts'
import type { Found, ShapeRecord, Store } from '../store.ts'
import { Directory } from './directory.ts'
import type { ToKeeper, ToReplica } from './messages.ts'
import { Replica } from './replica.ts'

const keys = ['a', 'b', 'c']
const everything: Interval = { from: 0, to: 1000 }

const shapeOf = (text: string): ShapeRecord => ({
  ...{ backend: 'main', text, query: text, sources: [], knowsAllSources: true, lookbackMs: 0 },
  ...{ grid: { kind: 'point', step: 1000, origin: 0 }, identity: '', headers: [] },
})

const saying = (key: string, bucket: number, clock: number): string => `${key}${bucket}@${clock};`

function paneOf(key: string, interval: Interval, fetchedAt: number): Pane {
  const builder = new PaneBuilder(1)
  builder.beginColumn(0, 0, Buffer.from('r'))
  builder.beginLane(0)
  let slab = ''
  for (let bucket = interval.from; bucket < interval.to; bucket++) {
    builder.bucket(bucket - interval.from, slab.length)
    slab += saying(key, bucket, fetchedAt)
  }
  builder.endLane(slab.length)
  return builder.finish({ interval, fetchedAt, slab: Buffer.from(slab) })
}

/** Bucket → clock; checks that every bucket says what was written at its clock. */
function clocksIn(key: string, found: Found | undefined): Map<number, number> {
  const clocks = new Map<number, number>()
  for (const pane of found?.panes ?? []) {
    const { body } = pane
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      const clock = clockOf(pane, bucket)
      const [start, end] = [body.offsetOf(0, 0, bucket), body.offsetOf(0, 0, bucket + 1)]
      const said = body.bytes.toString('latin1', body.slabAt + start, body.slabAt + end)
      assert.equal(said, saying(key, bucket, clock))
      assert.ok(!clocks.has(bucket), 'a bucket is there twice')
      clocks.set(bucket, clock)
    }
  }
  return clocks
}

/** Queues instead of ports: the test decides which one moves next. */
class Harness {
  readonly clock = fakeClock(1_000_000)
  readonly memory: Store
  readonly directory: Directory
  readonly replicas: { replica: Replica; budget: Budget; up: ToKeeper[]; down: ToReplica[] }[]

  constructor(threads: number, limit = 64 * 1024 * 1024) {
    this.memory = memoryStore({
      ...{ clock: this.clock, budget: new Budget(limit), retentionMs: 86_400_000 },
      maxBucketsPerShape: 10_000,
      onChange: (key) => this.directory.changed(key),
    })
    this.directory = new Directory({ memory: this.memory, storeOf: () => this.memory })
    this.replicas = Array.from({ length: threads }, (_, thread) => {
      const [up, down]: [ToKeeper[], ToReplica[]] = [[], []]
      this.directory.open(thread, (message) => down.push(structuredClone(message)))
      const budget = new Budget(limit)
      const replica = new Replica({
        ...{ clock: this.clock, budget, maxPaneBytes: limit, farStores: new Set<string>() },
        send: (message) => up.push(structuredClone(message)),
      })
      return { replica, budget, up, down }
    })
  }

  /** Delivers one message, or none where that queue is empty. */
  async deliver(thread: number, direction: 'up' | 'down'): Promise<void> {
    const { replica, up, down } = this.replicas[thread]!
    if (direction === 'up') {
      const message = up.shift()
      if (message !== undefined) this.directory.receive(thread, message)
    } else {
      const message = down.shift()
      if (message !== undefined) replica.receive(message)
    }
    await this.clock.advance(0)
  }

  async settle(): Promise<void> {
    while (this.replicas.some(({ up, down }) => up.length + down.length > 0)) {
      for (let thread = 0; thread < this.replicas.length; thread++) {
        await this.deliver(thread, 'up')
        await this.deliver(thread, 'down')
      }
    }
  }

  /** What a thread reads, once everything it has to ask for has come. */
  async read(thread: number, key: string): Promise<Map<number, number>> {
    const reading = Promise.resolve(this.replicas[thread]!.replica.store('').read(key, everything))
    await this.settle()
    return clocksIn(key, await reading)
  }
}

async function randomSteps(harness: Harness, random: Random, canRemove: boolean): Promise<void> {
  const threads = harness.replicas.length
  const seen = harness.replicas.map(() => new Map<string, number>())
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
    } else if (canRemove && chance < 0.3) harness.memory.remove(key, { from: 10, to: 20 })
    else if (chance < 0.4) void replica.store('').read(key, everything)
    else await harness.deliver(thread, pick(random, ['up', 'down'] as const))
    for (const [bucket, clock] of clocksIn(key, replica.look(key, everything))) {
      const before = seen[thread]!.get(`${key}${bucket}`) ?? 0
      assert.ok(canRemove || clock >= before, 'a bucket became older')
      seen[thread]!.set(`${key}${bucket}`, clock)
    }
  }
}

for (const canRemove of [false, true]) {
  test(`replicas and memory agree once all messages have come${canRemove ? ', removals too' : ''}`, async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seededRandom(seed)
      const harness = new Harness(wholeNumber(random, 1, 3))
      await randomSteps(harness, random, canRemove)
      await harness.settle()
      for (const key of keys) {
        const stored = clocksIn(key, harness.memory.peek!(key, everything) as Found | undefined)
        for (let thread = 0; thread < harness.replicas.length; thread++) {
          const { replica } = harness.replicas[thread]!
          const held = replica.look(key, everything)
          if (held !== undefined) assert.deepEqual(clocksIn(key, held), stored, `seed ${seed}`)
          assert.deepEqual(await harness.read(thread, key), stored, `seed ${seed}`)
        }
      }
      for (const { budget } of harness.replicas) assert.equal(budget.used, 0, `seed ${seed}`)
    }
  })
}

test('a body that a thread has keeps its number, so that what was made from it is found again', async () => {
  const harness = new Harness(2)
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

test('what memory refuses is forgotten by the one who wrote it, and holds no memory', async () => {
  const harness = new Harness(1, 200_000)
  const [{ replica, budget }] = harness.replicas as [Harness['replicas'][number]]
  assert.ok(
    replica.write('', 'a', { pane: paneOf('a', { from: 0, to: 4000 }, 999_000), shape: shapeOf('a') }),
  )
  assert.ok(replica.look('a', everything) !== undefined)
  await harness.settle()
  assert.equal(replica.look('a', everything), undefined)
  assert.equal(budget.used, 0)
})

test('keys that were read lately are told of, and are not the first to leave', async () => {
  const harness = new Harness(1, 60_000)
  const [{ replica }] = harness.replicas as [Harness['replicas'][number]]
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
    // New ones that are asked for three times: more than what nobody reads, less than what a thread does.
    for (let turn = 0; turn < 3; turn++) harness.memory.read(key, everything)
    harness.memory.write(key, { pane: paneOf(key, { from: 0, to: 300 }, 999_000), shape: shapeOf(key) })
  }
  assert.deepEqual([isThere('a'), isThere('b')], [true, false])
})

test('a thread that is gone is sent nothing more', async () => {
  const harness = new Harness(2)
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
