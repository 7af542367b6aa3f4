/** In front of a real Prometheus: uncached answers are its own. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { END, MINUTE } from '../data/dataset.ts'
import { type Fixture, startFixture } from '../data/fixture.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { type Answer, type Ask, ask, askPlainly, outcomeOf } from './client.ts'
import { rangePath, rangeSearch } from './matrix.ts'
import { startStand } from './setup.ts'

const started = await startFixture()
const skip = skipReason(started)
const fixture = started as Fixture
after(() => (isUnavailable(started) ? undefined : started.stop()))

/** Without headers that belong to one response, or to a hop. */
const volatile = new Set(['date', 'via', 'cache-status', 'server-timing', 'connection', 'age'])

const essence = ({ status, headers, body }: Answer) => ({
  status,
  headers: headers
    .filter(([name]) => !volatile.has(name))
    .map((pair) => pair.join(': '))
    .sort(),
  body: body.toString('latin1'),
})

const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const range = { query: 'ramp_seconds', start: END - 10 * MINUTE, end: END - MINUTE }
const cases: Record<string, [path: string, given?: Ask]> = {
  'an instant query': [`/api/v1/query?query=up%7Bjob!%3D%22%22%7D&time=${END / 1000}`],
  'an instant query as POST': [
    '/api/v1/query',
    { method: 'POST', headers: form, body: `query=ramp_seconds&time=${END / 1000 - 60}` },
  ],
  labels: ['/api/v1/labels'],
  'label values': ['/api/v1/label/__name__/values'],
  series: [`/api/v1/series?match[]=ramp_seconds&start=${range.start / 1000}&end=${range.end / 1000}`],
  metadata: ['/api/v1/metadata'],
  federate: ['/federate?match[]=%7Bjob%3D%22x%22%7D'],
  'a redirect': ['/'],
  'the health check': ['/-/healthy'],
  'a path that is none': ['/no/such/path?x=1'],
  'an API path that is none': ['/api/v1/nothing'],
  'OPTIONS with an origin': ['/api/v1/query_range', { method: 'OPTIONS', headers: { Origin: 'http://x' } }],
  'HEAD of a page': ['/-/ready', { method: 'HEAD' }],
  'PUT where it is not allowed': ['/api/v1/query', { method: 'PUT', body: 'x' }],
  'DELETE where it is not allowed': ['/api/v1/labels', { method: 'DELETE' }],
  'PATCH where it is not allowed': ['/api/v1/labels', { method: 'PATCH', body: 'x' }],
  'a remote write that is nonsense': ['/api/v1/write', { method: 'POST', body: Buffer.from([0, 255, 1]) }],
  'a remote read that is nonsense': ['/api/v1/read', { method: 'POST', body: Buffer.from([0, 255, 1]) }],
  'a range query without parameters': ['/api/v1/query_range'],
  'a range query that ends before it starts': [rangePath({ ...range, end: range.start - 1000 })],
  'a range query that does not parse': [rangePath({ ...range, query: 'ramp_seconds{' })],
  'a range query with bad escapes': [`${rangePath(range)}&x=%zz`],
  'a range query with too many points': [rangePath({ ...range, start: 0, stepMs: 1000 })],
  'a compressed answer': ['/api/v1/labels', { headers: { 'Accept-Encoding': 'gzip' } }],
}

for (const [name, [path, given]] of Object.entries(cases)) {
  test(`${name}: the same as directly`, { skip }, async (t) => {
    const clock = fakeClock(END + 1440 * MINUTE)
    const { url } = await startStand(t, { upstream: fixture.url, clock, objects: false })
    const through = await ask(url, path, given)
    assert.deepEqual(essence(through), essence(await direct(path, given)))
    assert.match(outcomeOf(through), /^bypass\//)
  })
}

test('a range query as a whole: miss, hit and partial are the same as directly', { skip }, async (t) => {
  const { url } = await startStand(t, { upstream: fixture.url, clock: fakeClock(END + 1440 * MINUTE) })
  const wider = { ...range, start: range.start - 5 * MINUTE }
  const post = { method: 'POST', headers: form, body: rangeSearch(wider) }
  for (const [path, given, outcome] of [
    [rangePath(range), {}, 'miss/absent'],
    [rangePath(range), {}, 'hit'],
    ['/api/v1/query_range', post, 'partial/absent'],
    [rangePath(wider), {}, 'hit'],
  ] as const) {
    const through = await ask(url, path, given)
    assert.equal(outcomeOf(through), outcome)
    assert.deepEqual(essence(through), essence(await direct(path, given)))
  }
})

const direct = (path: string, given?: Ask): Promise<Answer> => askPlainly(fixture.url, path, given)
