/** Lists between bounds that move with the clock: in an outage the last answer between other bounds serves. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, header, outcomeOf, statusOf, until } from '../proxy/client.ts'
import { list, NOW, startRig } from './rig.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const values = (from: number, to: number, more = '') =>
  `/api/v1/label/job/values?match[]=up&start=${from / 1000}&end=${to / 1000}${more}`
/** The last hour, as Grafana requests it. */
const lastHour = (now: number) => values(now - hour, now + minute)

const down = (_request: unknown, response: import('node:http').ServerResponse) =>
  void response.writeHead(503).end()

test('the answer of the minute before serves while the database fails, and names its bounds', async (t) => {
  const rig = await startRig(t)
  const shown = await ask(rig.url, lastHour(NOW))
  await rig.clock.advance(minute)
  rig.upstream.script = list('c')
  assert.equal(outcomeOf(await ask(rig.url, values(NOW - 2 * day, NOW - day))), 'miss/absent')
  rig.upstream.script = down
  const stale = await ask(rig.url, lastHour(NOW + minute))
  assert.deepEqual([stale.status, outcomeOf(stale)], [200, 'stale/database_error'])
  assert.deepEqual(stale.body, shown.body)
  assert.deepEqual([header(stale, 'age'), statusOf(stale).parameters.get('ttl')], ['60', -60])
  const bounds = `the answer for ${(NOW - hour) / 1000} to ${(NOW + minute) / 1000}`
  assert.ok(String(statusOf(stale).parameters.get('detail')).includes(bounds))
  rig.upstream.script = list('new')
  assert.equal(outcomeOf(await ask(rig.url, lastHour(NOW + minute))), 'miss/absent')
})

test('it serves for as long as staleIfError, whether both bounds move or only the end', async (t) => {
  const rig = await startRig(t)
  await ask(rig.url, lastHour(NOW))
  await ask(rig.url, values(NOW - 9 * hour, NOW))
  rig.upstream.script = down
  await rig.clock.advance(12 * hour)
  for (const path of [lastHour(NOW + 12 * hour), values(NOW - 9 * hour, NOW + 12 * hour)])
    assert.equal((await ask(rig.url, path)).status, 200, path)
  await rig.clock.advance(minute)
  for (const path of [lastHour(NOW + 12 * hour), values(NOW - 9 * hour, NOW + 12 * hour)])
    assert.equal((await ask(rig.url, path)).status, 503, path)
})

test('of several windows the nearest serves, and none that time does not explain', async (t) => {
  const rig = await startRig(t)
  for (const hours of [1, 3, 6, 24]) {
    rig.upstream.script = list(`${hours} h`)
    await ask(rig.url, values(NOW - hours * hour, NOW))
  }
  rig.upstream.script = down
  await rig.clock.advance(minute)
  const now = NOW + minute
  for (const hours of [1, 3, 6, 24]) {
    const { body } = await ask(rig.url, values(now - hours * hour, now))
    assert.match(body.toString(), new RegExp(`"${hours} h"`))
  }
  for (const path of [
    values(now - 48 * hour, now),
    values(now - 30 * hour, now - 24 * hour),
    values(now - hour, now, '&limit=3'),
    lastHour(now).replace('up', 'down'),
    '/api/v1/label/job/values?match[]=up',
  ])
    assert.equal((await ask(rig.url, path)).status, 503, path)
})

test('not for other identities, clients that want news, or after a purge', async (t) => {
  const rig = await startRig(t)
  const as = (who: string, now: number) => ask(rig.url, lastHour(now), { headers: { Authorization: who } })
  await as('a', NOW)
  rig.upstream.script = down
  await rig.clock.advance(minute)
  const now = NOW + minute
  assert.deepEqual([(await as('a', now)).status, (await as('b', now)).status], [200, 503])
  const headers = { Authorization: 'a', 'Cache-Control': 'no-cache' }
  assert.equal((await ask(rig.url, lastHour(now), { headers })).status, 503)
  await rig.server.purge.run({ backend: 'main' })
  assert.equal((await as('a', now)).status, 503)
})

test('a database that hangs is not waited for', async (t) => {
  const rig = await startRig(t)
  const shown = await ask(rig.url, lastHour(NOW))
  rig.upstream.script = () => {}
  await rig.clock.advance(minute)
  const asking = ask(rig.url, lastHour(NOW + minute))
  await until(() => rig.asked === 2)
  await rig.clock.advance(minute)
  const stale = await asking
  assert.deepEqual([stale.status, outcomeOf(stale)], [200, 'stale/database_slow'])
  assert.deepEqual(stale.body, shown.body)
  assert.match(String(statusOf(stale).parameters.get('detail')), /the answer for \d+ to \d+/)
})
