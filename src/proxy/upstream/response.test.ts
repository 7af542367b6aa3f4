import assert from 'node:assert/strict'
import test from 'node:test'
import type { Dispatcher } from 'undici'
import type { ResponseHandler } from '../../engine/ports.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Pace } from './pace.ts'
import { ResponseReader } from './response.ts'

const KiB = 1024

/** An answer that arrives as the test says, and turns of the event loop that come when it says. */
function setUp(handled: Partial<ResponseHandler> = {}) {
  const turns: (() => void)[] = []
  const told: string[] = []
  const controller = {
    paused: false,
    rawHeaders: [],
    rawTrailers: [],
    abort: () => void told.push('aborted'),
    pause() {
      controller.paused = true
    },
    resume() {
      controller.paused = false
    },
  }
  const handler: ResponseHandler = {
    isStreaming: true,
    head: () => void told.push('head'),
    raw: () => void told.push('raw'),
    data: () => void told.push('data'),
    passed: () => void told.push('passed'),
    end: () => void told.push('end'),
    failed: () => void told.push('failed'),
    ...handled,
  }
  const journey = { answered() {}, failed: () => undefined, timedOut() {}, over() {} }
  const pace = new Pace((action) => turns.push(action))
  const clock = fakeClock()
  const reader = new ResponseReader(handler, {
    ...{ clock, pace, journey, idleTimeoutMs: 1000, isDecoding: true },
  })
  const own = controller as unknown as Dispatcher.DispatchController
  reader.onRequestStart(own)
  reader.onResponseStart(own, 200)
  const arrive = (bytes: number) => reader.onResponseData(own, Buffer.alloc(bytes))
  const end = () => reader.onResponseEnd(own)
  return { reader, controller, clock, turns, arrive, end, told: () => told.splice(0).join(' ') }
}

test('a client is passed all of a large answer before any of it is split', () => {
  const { turns, arrive, told, end } = setUp()
  arrive(60 * KiB)
  arrive(60 * KiB)
  for (const turn of turns.splice(0)) turn()
  end()
  assert.equal(told(), 'head raw raw passed')
  while (turns.length > 0) turns.shift()!()
  assert.equal(told(), 'data data end')
})

test('a short answer is split at once', () => {
  const { turns, arrive, told, end } = setUp()
  arrive(60 * KiB)
  end()
  assert.equal(told(), 'head raw data end')
  while (turns.length > 0) turns.shift()!()
  assert.equal(told(), '')
})

test('where nobody is passed the answer it is split as it arrives', () => {
  const { turns, arrive, told, end } = setUp({ isStreaming: false })
  arrive(60 * KiB)
  turns.shift()!()
  assert.equal(told(), 'head raw data')
  arrive(60 * KiB)
  arrive(60 * KiB)
  end()
  turns.shift()!()
  assert.equal(told(), 'raw raw passed data data end')
})

test('no more than 2 MiB of an answer wait to be split', () => {
  const { turns, arrive, told } = setUp()
  for (let i = 0; i < 9; i++) {
    arrive(256 * KiB)
    turns.shift()!()
  }
  assert.equal(
    told()
      .split(' ')
      .filter((each) => each === 'data').length,
    9,
  )
})

test('who is in a hurry has it split at once', () => {
  const { reader, turns, arrive, told, end } = setUp()
  arrive(100 * KiB)
  end()
  assert.equal(told(), 'head raw passed')
  reader.hurry()
  assert.equal(told(), 'data end')
  while (turns.length > 0) turns.shift()!()
  assert.equal(told(), '')
})

test('what is given up is not split any more', () => {
  for (const giveUp of ['cancel', 'stopDecoding'] as const) {
    const { reader, turns, arrive, told, end } = setUp()
    arrive(100 * KiB)
    end()
    told()
    reader[giveUp]()
    assert.equal(told(), giveUp === 'cancel' ? 'aborted' : 'end')
    while (turns.length > 0) turns.shift()!()
    assert.equal(told(), '')
  }
})

test('an answer that has arrived is not late, however long it waits to be split', async () => {
  const { clock, turns, arrive, told, end } = setUp()
  arrive(100 * KiB)
  end()
  await clock.advance(5000)
  while (turns.length > 0) turns.shift()!()
  assert.equal(told(), 'head raw passed data end')
})

test('who has been passed its share of a turn reads on in the next', () => {
  const { controller, turns, arrive } = setUp()
  arrive(1023 * KiB)
  assert.equal(controller.paused, false)
  arrive(KiB)
  assert.equal(controller.paused, true)
  turns.shift()!()
  assert.equal(controller.paused, false)
})
