/** As many queries at the database as permitted, and a bounded queue in front of it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { MINUTE } from '../data/dataset.ts'
import { header, outcomeOf } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { until } from '../wait.ts'
import { range, startQuotaRig } from './rig.ts'

const path = (query: string) => rangePath({ ...range, query })

test('queries beyond the limit wait in order, and beyond the queue they are refused', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.script = () => {}
  const { ask, queue } = await startQuotaRig(t, upstream.url, '{}', '{limit: 1, queue: 1, wait: 5s}')
  const first = ask('a', path('up'))
  await until(() => upstream.seen.length === 1)
  const second = ask('a', '/api/v1/labels')
  await until(() => queue().length === 1)
  const third = await ask('a', path('down'))
  assert.equal(third.status, 503)
  assert.equal(header(third, 'retry-after'), '1')
  assert.equal(outcomeOf(third), 'refused/queue_full')
  assert.match(third.body.toString(), /as many queries as it may have/)
  const answer = ({ request, response }: (typeof upstream.seen)[number]) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(matrixFor(new URL(request.url!, 'http://a').searchParams, 1))
  }
  answer(upstream.seen[0]!)
  assert.equal((await first).status, 200)
  await until(() => upstream.seen.length === 2)
  answer(upstream.seen[1]!)
  assert.equal((await second).status, 200)
  assert.deepEqual([queue().length, queue().waited, queue().refused], [0, 1, 1])
})

test('a query that has waited too long is answered from the store', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const rig = await startQuotaRig(t, upstream.url, '{}', '{limit: 1, queue: 5, wait: 5s}')
  const { ask, clock, queue, metrics } = rig
  assert.equal((await ask('a', path('up'))).status, 200)
  await clock.advance(65 * MINUTE)
  upstream.script = () => {}
  void ask('a', path('down')).catch(() => {})
  await until(() => upstream.seen.length === 2)
  const waiting = ask('a', path('up'))
  await until(() => queue().length === 1)
  await clock.advance(5000)
  const stale = await waiting
  assert.equal(outcomeOf(stale), 'stale/queue_full')
  assert.match(metrics(), /windowpane_queue_refused_total\{backend="main"\} 1/)
  assert.match(metrics(), /windowpane_queue_wait_seconds_total\{backend="main"\} 5/)
})
