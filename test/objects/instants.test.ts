/** Instant queries: shared while they are under way, kept for outages, and, where configured, given for a time a little later. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, ask, outcomeOf, statusOf, until } from '../proxy/client.ts'
import { NOW, type Rig, startRig } from './rig.ts'

const at = (ms: number, query = 'up') => `/api/v1/query?query=${query}&time=${(NOW + ms) / 1000}`

/** Answers with the requested time. */
function tellTime(rig: Rig): void {
  rig.upstream.script = (request, response) => {
    const time = new URL(request.url!, 'http://h').searchParams.get('time')
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(`{"status":"success","data":{"resultType":"scalar","result":[${time},"1"]}}`)
  }
}

const timeIn = ({ body }: Answer): number =>
  1000 * (JSON.parse(body.toString()) as { data: { result: [number] } }).data.result[0] - NOW

test('nothing is kept for the next request, and equal ones at once are one', async (t) => {
  const rig = await startRig(t)
  tellTime(rig)
  for (let i = 1; i <= 2; i++) {
    assert.equal(outcomeOf(await ask(rig.url, at(0))), 'miss/absent')
    assert.equal(rig.asked, i)
  }
  const answers: (() => void)[] = []
  rig.upstream.script = (_request, response) =>
    void answers.push(() =>
      response.end('{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}'),
    )
  const asking = [at(5), at(5), at(5), at(6), at(5, 'other')].map((path) => ask(rig.url, path))
  await until(() => rig.server.databases[0]!.figures().requests === 5)
  await until(() => answers.length === 3)
  for (const answer of answers) answer()
  const collapsed = (await Promise.all(asking)).map(
    (each) => statusOf(each).parameters.get('collapsed') === true,
  )
  assert.equal(collapsed.filter(Boolean).length, 2)
  assert.equal(rig.asked, 5)
})

test('in an outage the last answer serves, for as long as maxStale, and never for an earlier time', async (t) => {
  const rig = await startRig(t)
  tellTime(rig)
  await ask(rig.url, at(0))
  rig.upstream.script = (_request, response) => response.writeHead(502).end()
  await rig.clock.advance(60_000)
  const stale = await ask(rig.url, at(60_000))
  assert.deepEqual([stale.status, outcomeOf(stale), timeIn(stale)], [200, 'stale/database_error', 0])
  assert.equal(statusOf(stale).parameters.get('ttl'), -60)
  assert.equal((await ask(rig.url, at(-1))).status, 502)
  assert.equal((await ask(rig.url, at(15 * 60_000))).status, 502)
  const demanding = await ask(rig.url, at(60_000), { headers: { 'Cache-Control': 'no-cache' } })
  assert.equal(demanding.status, 502)
  await rig.clock.advance(14 * 60_000 - 1)
  assert.equal((await ask(rig.url, at(60_000))).status, 200)
  await rig.clock.advance(1)
  assert.equal((await ask(rig.url, at(60_000))).status, 502)
})

test('within: an answer stands for a time at most that much later, and is marked so', async (t) => {
  const rig = await startRig(t, { whole: { instantWithinMs: 5_000 } })
  tellTime(rig)
  assert.equal(outcomeOf(await ask(rig.url, at(0))), 'miss/absent')
  await rig.clock.advance(3_000)
  const near = await ask(rig.url, at(3_000))
  assert.deepEqual([outcomeOf(near), timeIn(near)], ['hit', 0])
  assert.match(String(statusOf(near).parameters.get('detail')), /instant\.within: evaluated 3000 ms before/)
  assert.equal(statusOf(near).parameters.get('ttl'), 2)
  assert.equal(outcomeOf(await ask(rig.url, at(5_000))), 'hit')
  // Too much later; earlier; and another question.
  for (const path of [at(5_001), at(-1), at(3_000, 'other')])
    assert.equal(outcomeOf(await ask(rig.url, path)), 'miss/absent', path)
  // That for 5001 was generated 3 s later than that for 0.
  await rig.clock.advance(5_000)
  assert.equal(outcomeOf(await ask(rig.url, at(8_000))), 'hit')
  await rig.clock.advance(1)
  assert.equal(outcomeOf(await ask(rig.url, at(8_001))), 'miss/absent')
})

test('within: no time means now; and a concurrent request joins', async (t) => {
  const rig = await startRig(t, { whole: { instantWithinMs: 5_000 } })
  const answers: (() => void)[] = []
  rig.upstream.script = (_request, response) =>
    void answers.push(() =>
      response.end('{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}'),
    )
  const first = ask(rig.url, '/api/v1/query?query=up')
  await until(() => answers.length === 1)
  await rig.clock.advance(2_000)
  const second = ask(rig.url, at(2_000))
  await until(() => rig.server.databases[0]!.figures().requests === 2)
  answers[0]!()
  assert.deepEqual([await first, await second].map(outcomeOf), ['miss/absent', 'miss/absent'])
  assert.equal(outcomeOf(await ask(rig.url, '/api/v1/query?query=up')), 'hit')
  assert.equal(rig.asked, 1)
})

test('identities never share an instant answer, also in an outage', async (t) => {
  const rig = await startRig(t, { whole: { instantWithinMs: 5_000 } })
  tellTime(rig)
  const as = (who: string) => ask(rig.url, at(0), { headers: { 'X-Scope-OrgID': who } })
  assert.equal(outcomeOf(await as('a')), 'miss/absent')
  assert.equal(outcomeOf(await as('b')), 'miss/absent')
  assert.equal(outcomeOf(await as('a')), 'hit')
  rig.upstream.script = (_request, response) => response.writeHead(502).end()
  assert.equal((await as('c')).status, 502)
})
