/** One budget for everything that is held: one answer or one client does not cost the others theirs. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, ask, header, outcomeOf, rawClient, until } from './client.ts'
import { matrix, matrixFor, rangePath, rangeSearch } from './matrix.ts'
import type { ScriptedUpstream } from './scripted-upstream.ts'
import { oldRange, type Stand, startBoth } from './setup.ts'

const MiB = 2 ** 20
const limits = { memoryBytes: 64 * MiB, maxBuckets: 11_001 }
const steps = oldRange(1, 11_001)
const usual = (number: number) => rangePath({ ...oldRange(), query: `usual_${number}` })

/** 14 000 series with a point at the beginning and one at the end of the range: 1 MB that needs 600 MB as a table. */
function sparse(params: URLSearchParams): string {
  const points = [`[${params.get('start')},"1"]`, `[${params.get('end')},"1"]`]
  return matrix(
    Array.from(
      { length: 14_000 },
      (_, i) => `{"metric":{"i":"${String(i).padStart(5, '0')}"},"values":[${points.join(',')}]}`,
    ),
  )
}

function serveBoth(upstream: ScriptedUpstream): void {
  upstream.script = (request, response) => {
    const params = new URL(request.url!, 'http://x').searchParams
    response.end(params.get('query') === 'sparse' ? sparse(params) : matrixFor(params, 1))
  }
}

/** The most that was reserved at any time. */
function watchBudget({ budget }: Stand): { most: number } {
  const watch = { most: budget.used }
  const reserve = budget.reserve.bind(budget)
  budget.reserve = (bytes) => {
    const isReserved = reserve(bytes)
    watch.most = Math.max(watch.most, budget.used)
    return isReserved
  }
  return watch
}

test('a sparse answer passes untouched and pushes nothing out', async (t) => {
  const stand = await startBoth(t, { limits })
  const { url, upstream, budget } = stand
  serveBoth(upstream)
  for (let i = 0; i < 20; i++) await ask(url, usual(i))
  const [held, watch] = [budget.used, watchBudget(stand)]
  const path = rangePath({ ...steps, query: 'sparse' })
  const expected = sparse(new URL(path, 'http://x').searchParams)
  for (const headers of [{}, { 'Cache-Control': 'no-cache' }] as Record<string, string>[]) {
    const answer = await ask(url, path, { headers })
    assert.match(outcomeOf(answer), /^miss/)
    assert.equal(answer.body.toString(), expected)
  }
  assert.ok(watch.most <= budget.limit / 2 + held + MiB, `${watch.most} bytes`)
  await until(() => budget.used === held)
  for (let i = 0; i < 20; i++) assert.equal(outcomeOf(await ask(url, usual(i))), 'hit')
})

test('a sparse rest of an answer is fetched as a whole, and evicts nothing', async (t) => {
  const { url, upstream, budget } = await startBoth(t, { limits })
  serveBoth(upstream)
  const script = upstream.script
  const begin = { query: 'sparse', start: steps.start, end: steps.start + 60_000 }
  upstream.script = (_request, response) => void response.end(matrix([]))
  await ask(url, rangePath(begin))
  upstream.script = script
  for (let i = 0; i < 20; i++) await ask(url, usual(i))
  const held = budget.used
  const path = rangePath({ ...steps, query: 'sparse' })
  const answer = await ask(url, path)
  assert.equal(outcomeOf(answer), 'bypass/answer_too_large')
  assert.equal(answer.body.toString(), sparse(new URL(path, 'http://x').searchParams))
  await until(() => budget.used === held)
  for (let i = 0; i < 20; i++) assert.equal(outcomeOf(await ask(url, usual(i))), 'hit')
})

const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

for (const cacheControl of ['no-store', 'max-age=60']) {
  test(`60 clients with a query of 9 MB each, ${cacheControl}: those without room are refused`, async (t) => {
    const { url, upstream, budget } = await startBoth(t, { limits })
    upstream.script = () => {}
    const body = Buffer.from(`${rangeSearch(oldRange())}&x=${'y'.repeat(9 * MiB)}`)
    const headers = { ...form, 'Cache-Control': cacheControl }
    const answers: Answer[] = []
    const all = Array.from({ length: 60 }, () =>
      ask(url, '/api/v1/query_range', { method: 'POST', headers, body }).then((answer) =>
        answers.push(answer),
      ),
    )
    await until(() => answers.length >= 53)
    for (const answer of answers) {
      assert.deepEqual([answer.status, outcomeOf(answer)], [503, 'refused/overloaded'])
      assert.match(header(answer, 'retry-after')!, /^[1-9]/)
    }
    assert.ok(budget.used > 0 && budget.used <= budget.limit)
    upstream.script = (request, response) => void request.resume().on('end', () => response.end('{}'))
    for (const { request, response } of upstream.seen) request.resume().on('end', () => response.end('{}'))
    await Promise.all(all)
    assert.ok(answers.some(({ status }) => status === 200) || budget.used === 0)
    await until(() => budget.used === 0)
  })
}

test('clients that go before their query was read to its end give its room back', async (t) => {
  const { url, budget } = await startBoth(t, { limits })
  const client = await rawClient(url)
  client.write('POST /api/v1/query_range HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n')
  client.write(Buffer.alloc(4 * MiB))
  await until(() => budget.used >= 4 * MiB)
  client.socket.destroy()
  await until(() => budget.used === 0)
})

test('a connection whose query had no room is closed, or goes on with the next request', async (t) => {
  const { url, budget } = await startBoth(t, { limits: { memoryBytes: MiB } })
  const client = await rawClient(url)
  const length = 5_000_000
  client.write(`POST /api/v1/query_range HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`)
  client.write(Buffer.alloc(length, 'y'))
  client.write('GET /second HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await client.has('HTTP/1.1 503')
  await until(() => client.socket.closed)
  const received = client.received().toString()
  assert.match(received, /^HTTP\/1\.1 503 /)
  const isSecondAnswered = received.split('HTTP/1.1 200').length === 2
  assert.ok(isSecondAnswered || /connection: close/i.test(received), received)
  assert.equal(budget.used, 0)
})
