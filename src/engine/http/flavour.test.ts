import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlavourProbe } from '../../backends/backend.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { ResponseHandler, Upstream } from '../ports.ts'
import { FlavourWatch } from './flavour.ts'

const probe: FlavourProbe = {
  path: '/info',
  read: (status, body) => ({ isKnown: body === 'known', label: `${body || 'nothing'} (status ${status})` }),
}

function stand() {
  const clock = fakeClock(Date.UTC(2026, 0, 1))
  const handlers: ResponseHandler[] = []
  const upstream: Upstream = {
    preferredEncoding: 'identity',
    send(_request, _accept, handler) {
      handlers.push(handler)
      return { cancel() {}, pause() {}, resume() {} }
    },
  }
  const watch = new FlavourWatch(probe, upstream, clock)
  const answer = (status: number, text: string): void => {
    const handler = handlers.at(-1)!
    handler.head(status, [])
    handler.data(Buffer.from(text))
    handler.end([])
  }
  return { clock, watch, answer, last: () => handlers.at(-1)! }
}

test('why there was no answer is known, and a database that never answered has not', async () => {
  const { clock, watch, answer, last } = stand()
  void watch.ask([])
  last().failed({ reason: 'database_unreachable', detail: 'connect ECONNREFUSED' })
  assert.deepEqual(watch.current, {
    isKnown: false,
    label: 'not reached: connect ECONNREFUSED',
    silence: 'unreachable',
  })
  void watch.ask([])
  await clock.advance(5_000)
  assert.deepEqual([watch.current.label, watch.hasAnswered], ['no answer within 5 s', false])
  void watch.ask([])
  answer(503, '')
  assert.deepEqual([watch.current.silence, watch.hasAnswered], ['server_error', false])
  void watch.ask([])
  answer(404, '')
  assert.deepEqual([watch.current.silence, watch.hasAnswered], [undefined, true])
})

test('a report of another thread about a silent database is no answer', () => {
  const { watch, answer } = stand()
  watch.adopt({ isKnown: false, label: 'not reached: connect ETIMEDOUT', silence: 'unreachable' })
  assert.equal(watch.hasAnswered, false)
  watch.adopt({ isKnown: false, label: 'something else' })
  assert.equal(watch.hasAnswered, true)
  void watch.ask([])
  answer(200, 'known')
  assert.deepEqual([watch.current.isKnown, watch.hasAnswered], [true, true])
})
