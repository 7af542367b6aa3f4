/**
 * Large losses of speed, as ratios measured in turn on one machine: a splice against memcpy of the same bytes, and a
 * hit over HTTP against a bare server that writes the same buffer. The bounds are far from the normal values (in
 * brackets), so that a busy machine does not fail them; the benchmarks measure the normal values.
 */
import assert from 'node:assert/strict'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { forms, grid } from '../../bench/forms.ts'
import { inTurn } from '../../bench/measure.ts'
import type { Decomposed } from '../../src/backends/backend.ts'
import { MatrixSink } from '../../src/backends/matrix/decompose.ts'
import { recompose } from '../../src/backends/matrix/recompose.ts'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { systemClock } from '../../src/core/clock.ts'
import { startWindowpane } from '../../src/proxy/assembly/windowpane.ts'

const form = forms()[1]!

test('a splice of 100 × 720 takes less than four times a memcpy of its bytes (normally 1.1 to 1.5)', () => {
  const sink = new MatrixSink(grid, form.interval)
  sink.write(form.body)
  const { panes } = sink.end(1) as Decomposed
  const target = Buffer.allocUnsafeSlow(form.body.length)
  const copy = Buffer.allocUnsafeSlow(form.body.length)
  const [splice, memcpy] = inTurn(
    () => recompose(panes).write(target),
    () => form.body.copy(copy),
    100,
  )
  assert.deepEqual(target, form.body)
  assert.ok(splice < 4 * memcpy, `${splice.toFixed(0)} µs against ${memcpy.toFixed(0)} µs`)
})

test('taking an answer in is quicker than JSON.parse of it (normally four times as quick)', () => {
  const text = form.body.toString()
  const [own, parse] = inTurn(
    () => {
      const sink = new MatrixSink(grid, form.interval)
      sink.write(form.body)
      sink.end(1)
    },
    () => JSON.parse(text),
    50,
  )
  assert.ok(own < parse, `${own.toFixed(0)} µs against ${parse.toFixed(0)} µs`)
})

test('a hit over HTTP costs less than four times as much as the same bytes from a bare server (normally 1.3)', async (t) => {
  const database = await serving(t, (path) => (path.startsWith('/api/v1/status') ? buildInfo : form.body))
  const backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: 11_001 })
  const proxy = await startWindowpane({ upstream: database, backend, listen: '127.0.0.1:0' })
  t.after(() => proxy.close())
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const [start, end] = [form.interval.from, form.interval.to - 1].map((bucket) => (bucket * grid.step) / 1000)
  const path = `/api/v1/query_range?query=x&start=${start}&end=${end}&step=${grid.step / 1000}`
  const hit = () => get(agent, proxy.url + path)
  const bare = () => get(agent, database + path)
  for (let turn = 0; turn < 50; turn++) await Promise.all([hit(), bare()])
  let [own, bound] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < 300; round++) {
    own = Math.min(own, await timeOf(hit))
    bound = Math.min(bound, await timeOf(bare))
  }
  assert.ok(own < 4 * bound, `${own.toFixed(2)} ms against ${bound.toFixed(2)} ms`)
})

const buildInfo = Buffer.from('{"status":"success","data":{"version":"3.5.3"}}')

async function serving(t: TestContext, answer: (path: string) => Buffer): Promise<string> {
  const server = createServer((message, response) => {
    const bytes = answer(message.url!)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': bytes.length }).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function timeOf(action: () => Promise<void>): Promise<number> {
  const began = systemClock.elapsed()
  await action()
  return systemClock.elapsed() - began
}

function get(agent: Agent, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
      })
      response.on('end', () =>
        length === form.body.length ? resolve() : reject(new Error(`${length} bytes from ${url}`)),
      )
    })
      .on('error', reject)
      .end()
  })
}
