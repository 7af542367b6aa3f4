import assert from 'node:assert/strict'
import test from 'node:test'
import { ListeningTarget } from '../../../test/rigs/listening-target.ts'
import { prometheus } from '../../backends/prometheus/index.ts'
import { Budget } from '../../core/budget.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { ResponseHandler } from '../ports.ts'
import { objectCache } from './object-cache.ts'
import { WholeFetcher } from './whole-fetch.ts'

/** A client that waits for a list, and its database, which may answer in 1000 bytes and has sent 600. */
function setUp() {
  const clock = fakeClock()
  const budget = new Budget(64_000)
  const backend = prometheus({ settledAgeMs: 0, maxBuckets: 1 })
  const call = { cancel() {}, pause() {}, resume() {} }
  let sent: ResponseHandler | undefined
  const fetcher = new WholeFetcher({
    ...{ name: 'main', clock, budget, backend, objects: objectCache({}, { clock }), maxAnswerBytes: 64_000 },
    patienceMs: { slow: 1, down: 1 },
    upstream: {
      preferredEncoding: 'identity',
      send(_request, _accept, handler) {
        sent = handler
        return call
      },
    },
  })
  const request = { method: 'GET', path: '/api/v1/labels', search: '', headers: [], body: Buffer.alloc(0) }
  const target = new ListeningTarget()
  const plan = backend.whole!.plan(request, 0)!
  const fetch = fetcher.fetch({ plan, partition: 'separate', target })
  const database = sent!
  database.head(200, [])
  database.data(Buffer.alloc(600, 'a'))
  const goOn = () => {
    database.data(Buffer.alloc(600, 'b'))
    database.end([])
    return fetch.result
  }
  return { fetch, database, goOn, target, budget }
}

test('a client is given nothing of a short response: it is answered with the result', async () => {
  const { fetch, database, target, budget } = setUp()
  database.end([])
  const result = await fetch.result
  assert.ok(result.kind === 'answer' && result.body.length === 600)
  await fetch.delivered
  assert.deepEqual([fetch.isStreaming, target.status, target.text, target.ending], [false, 0, '', undefined])
  assert.equal(budget.used, 0)
})

test('nor of a short one that breaks off: it is requested again', async () => {
  const { database, fetch, target } = setUp()
  assert.equal(database.restart?.(), true)
  database.head(400, [])
  database.data(Buffer.from('wrong'))
  database.end([])
  const result = await fetch.result
  assert.ok(result.kind === 'refused' && result.response.body.toString() === 'wrong')
  assert.equal(target.status, 0)
})

test('a client is given all of a response that is too long to keep', async () => {
  const { target, goOn, budget } = setUp()
  assert.equal(target.text, '')
  assert.equal((await goOn()).kind, 'unusable')
  assert.deepEqual([target.status, target.text.length, target.ending], [200, 1200, 'whole'])
  assert.equal(budget.used, 0)
})

test('a client that was given another answer is given nothing of it', async () => {
  const { fetch, target, goOn, budget } = setUp()
  fetch.dropTarget()
  assert.equal((await goOn()).kind, 'unusable')
  assert.deepEqual([target.status, target.text, target.ending], [0, '', undefined])
  assert.equal(budget.used, 0)
})
