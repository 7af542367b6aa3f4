import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock } from '../../testing/fake-clock.ts'
import { type Concurrency, Slot, type SlotKind, Slots } from './slots.ts'

const unlimited: Concurrency = { limit: Infinity, queue: Infinity, waitMs: 100_000 }

function setUp(connections = 8, concurrency = () => unlimited) {
  const clock = fakeClock()
  const slots = new Slots(clock, connections, concurrency)
  const log: string[] = []
  const enter = (kind: SlotKind, name: string = kind): Slot => {
    const slot = new Slot(slots, kind, {
      start: () => log.push(name),
      cut: () => {
        log.push(`cut ${name}`)
        slot.leave()
      },
      refuse: (detail) => {
        log.push(`refused ${name} (${detail})`)
        slot.leave()
      },
    })
    slot.enter()
    return slot
  }
  return { clock, slots, enter, log, told: () => log.splice(0).join(' ') }
}

test('forwarded requests use three quarters of the connections, uploads a quarter; the cache is never delayed', () => {
  const { enter, told } = setUp(8)
  for (let i = 0; i < 3; i++) enter('upload', `u${i}`)
  assert.equal(told(), 'u0 u1')
  for (let i = 0; i < 6; i++) enter('forward', `f${i}`)
  assert.equal(told(), 'f0 f1 f2 f3')
  for (let i = 0; i < 3; i++) enter('fetch')
  assert.equal(told(), 'fetch fetch fetch')
})

test('a waiter continues when one of its kind is over; one that disconnected meanwhile is forgotten', () => {
  const { enter, told } = setUp(8)
  const uploads = [0, 1, 2, 3].map((i) => enter('upload', `u${i}`))
  const forwards = [0, 1, 2, 3, 4, 5].map((i) => enter('forward', `f${i}`))
  told()
  forwards[0]!.leave()
  assert.equal(told(), 'f4')
  uploads[2]!.leave()
  uploads[0]!.leave()
  assert.equal(told(), 'u3')
})

test('a single connection is for everybody', () => {
  const { enter, told } = setUp(1)
  enter('forward')
  enter('fetch')
  assert.equal(told(), 'forward fetch')
})

test('a slow reader keeps its connection while no request waits', async () => {
  const { clock, enter, told } = setUp(2)
  enter('fetch').hold()
  await clock.advance(60_000)
  assert.equal(told(), 'fetch')
})

test('a reader that has taken nothing for 2 s loses its connection to one that waits', async () => {
  const { clock, enter, told } = setUp(2)
  const [slow, slower] = [enter('forward', 'slow'), enter('fetch', 'slower')]
  slower.hold()
  await clock.advance(1_000)
  slow.hold()
  enter('fetch', 'miss')
  assert.equal(told(), 'slow slower miss')
  await clock.advance(1_000)
  assert.equal(told(), 'cut slower')
  await clock.advance(60_000)
  assert.equal(told(), '')
})

test('a reader that goes on in time keeps its connection', async () => {
  const { clock, enter, told } = setUp(1)
  const slow = enter('fetch', 'slow')
  enter('fetch', 'miss')
  for (let i = 0; i < 10; i++) {
    slow.hold()
    await clock.advance(1_500)
    slow.proceed()
  }
  assert.equal(told(), 'slow miss')
})

test('the queue for a share counts as waiting', async () => {
  const { clock, enter, told } = setUp(4)
  for (const name of ['a', 'b', 'c']) enter('forward', name).hold()
  enter('forward', 'd')
  await clock.advance(2_000)
  assert.equal(told(), 'a b c cut a d')
})

const limited = (concurrency: Concurrency) => {
  const settings = { concurrency }
  return { ...setUp(8, () => settings.concurrency), settings }
}

test('no more queries than permitted are at the database, and the others follow in the order of their coming', () => {
  const { enter, told, slots } = limited({ limit: 2, queue: 10, waitMs: 1000 })
  const all = [enter('fetch', 'a'), enter('forward', 'b'), enter('fetch', 'c'), enter('forward', 'd')]
  assert.equal(told(), 'a b')
  assert.equal(slots.queue.length, 2)
  all[1]!.leave()
  assert.equal(told(), 'c')
  all[0]!.leave()
  assert.equal(told(), 'd')
  assert.equal(slots.queue.length, 0)
  assert.equal(slots.queue.waited, 2)
})

test('a query that finds the queue full is refused, after its caller has the call in hand', async () => {
  const { clock, enter, told, slots } = limited({ limit: 1, queue: 1, waitMs: 1000 })
  enter('fetch', 'a')
  enter('fetch', 'b')
  enter('fetch', 'c')
  assert.equal(told(), 'a')
  await clock.advance(0)
  assert.equal(told(), 'refused c (1 queries wait already)')
  assert.deepEqual({ ...slots.queue }, { length: 1, waited: 0, waitedMs: 0, refused: 1 })
})

test('a query waits no longer than permitted', async () => {
  const { clock, enter, told, slots } = limited({ limit: 1, queue: 5, waitMs: 1000 })
  const first = enter('fetch', 'a')
  enter('fetch', 'b')
  await clock.advance(600)
  enter('fetch', 'c')
  await clock.advance(400)
  assert.equal(told(), 'a refused b (not sent within 1000 ms)')
  first.leave()
  assert.equal(told(), 'c')
  await clock.advance(60_000)
  assert.equal(told(), '')
  assert.deepEqual({ ...slots.queue }, { length: 0, waited: 2, waitedMs: 1400, refused: 1 })
})

test('a query that is given up while it waits leaves the queue to the others', async () => {
  const { clock, enter, told, slots } = limited({ limit: 1, queue: 1, waitMs: 1000 })
  enter('fetch', 'a')
  enter('fetch', 'b').leave()
  enter('fetch', 'c')
  await clock.advance(0)
  assert.equal(told(), 'a')
  assert.equal(slots.queue.length, 1)
})

test('a refused query does not take the place of another one that waits', async () => {
  const { clock, enter, told } = limited({ limit: 1, queue: 1, waitMs: 1000 })
  const first = enter('fetch', 'a')
  enter('fetch', 'b')
  enter('fetch', 'c')
  await clock.advance(0)
  told()
  first.leave()
  assert.equal(told(), 'b')
})

test('a limit that a reload has raised lets waiting queries go first', () => {
  const { enter, told, settings } = limited({ limit: 1, queue: 5, waitMs: 1000 })
  enter('fetch', 'a')
  enter('fetch', 'b')
  settings.concurrency = { limit: 2, queue: 5, waitMs: 1000 }
  enter('fetch', 'c')
  assert.equal(told(), 'a b')
})

test('probes are never held up', () => {
  const { enter, told } = limited({ limit: 1, queue: 0, waitMs: 1000 })
  enter('fetch')
  enter('probe')
  assert.equal(told(), 'fetch probe')
})
