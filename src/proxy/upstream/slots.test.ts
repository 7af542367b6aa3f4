import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Slot, type SlotKind, Slots } from './slots.ts'

function setUp(connections = 8) {
  const clock = fakeClock()
  const slots = new Slots(clock, connections)
  const log: string[] = []
  const enter = (kind: SlotKind, name: string = kind): Slot => {
    const slot = new Slot(slots, kind, {
      start: () => log.push(name),
      cut: () => {
        log.push(`cut ${name}`)
        slot.leave()
      },
    })
    slot.enter()
    return slot
  }
  return { clock, slots, enter, log, told: () => log.splice(0).join(' ') }
}

test('what is forwarded uses three quarters of the connections, uploads a quarter; the cache is never held up', () => {
  const { enter, told } = setUp(8)
  for (let i = 0; i < 3; i++) enter('upload', `u${i}`)
  assert.equal(told(), 'u0 u1')
  for (let i = 0; i < 6; i++) enter('forward', `f${i}`)
  assert.equal(told(), 'f0 f1 f2 f3')
  for (let i = 0; i < 3; i++) enter('fetch')
  assert.equal(told(), 'fetch fetch fetch')
})

test('whoever waits goes on when one of its kind is over; one that left meanwhile is forgotten', () => {
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

test('a slow reader keeps its connection while nobody waits', async () => {
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
