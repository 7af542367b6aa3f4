import assert from 'node:assert/strict'
import test from 'node:test'
import type { Dispatcher } from 'undici'
import type { ResponseHandler } from '../../engine/ports.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Pace } from './pace.ts'
import { ResponseReader } from './response.ts'

const KiB = 1024

/** A response that arrives under the control of the test, as do the turns of the event loop. */
function setUp(isSent = true) {
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
    head: () => void told.push('head'),
    data: () => void told.push('data'),
    end: () => void told.push('end'),
    failed: ({ reason }) => void told.push(`failed: ${reason}`),
  }
  const attempts = {
    ...{ begun() {}, answered() {}, failed: () => undefined, ended() {} },
    timedOut: () => void told.push('timed out'),
  }
  const pace = new Pace({ afterTurn: (action) => turns.push(action) })
  const clock = fakeClock()
  const reader = new ResponseReader(handler, {
    ...{ clock, pace, attempts, idleTimeoutMs: 1000, slot: { leave() {}, hold() {}, proceed() {} } },
  })
  reader.begin()
  const own = controller as unknown as Dispatcher.DispatchController
  const send = () => reader.onRequestStart(own)
  if (isSent) {
    send()
    reader.onResponseStart(own, 200)
  }
  const arrive = (bytes: number) => reader.onResponseData(own, Buffer.alloc(bytes))
  const end = () => reader.onResponseEnd(own)
  return { reader, controller, clock, turns, send, arrive, end, told: () => told.splice(0).join(' ') }
}

test('a response is reported as it comes, once', () => {
  const { reader, arrive, told, end } = setUp()
  arrive(60 * KiB)
  end()
  end()
  reader.cancel()
  assert.equal(told(), 'head data end')
})

test('an abandoned response is not reported any further', () => {
  const { reader, arrive, told, end } = setUp()
  reader.cancel()
  arrive(60 * KiB)
  end()
  assert.equal(told(), 'head aborted')
})

test('a database that is held back is not late; one that is silent is', async () => {
  const { reader, clock, told } = setUp()
  reader.pause()
  await clock.advance(5000)
  assert.equal(told(), 'head')
  reader.resume()
  await clock.advance(2000)
  assert.equal(told(), 'timed out failed: database_timeout aborted')
})

test('a database has all its time from when the query was sent', async () => {
  const { clock, send, told } = setUp(false)
  await clock.advance(900)
  send()
  await clock.advance(900)
  assert.equal(told(), '')
  await clock.advance(100)
  assert.equal(told(), 'timed out failed: database_timeout aborted')
})

test('a query that gets no connection is over, and tells nothing about the database', async () => {
  const { clock, send, told } = setUp(false)
  await clock.advance(9_999)
  assert.equal(told(), '')
  await clock.advance(1)
  assert.equal(told(), 'failed: queue_full')
  send()
  assert.equal(told(), 'aborted')
})

test('a reader that has had its share of a turn reads on in the next', () => {
  const { controller, turns, arrive } = setUp()
  arrive(1023 * KiB)
  assert.equal(controller.paused, false)
  arrive(KiB)
  assert.equal(controller.paused, true)
  turns.shift()!()
  assert.equal(controller.paused, false)
})
