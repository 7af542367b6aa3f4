/** Design §7, rules 1 and 2: which request joins which flight, and the resulting queries. */
import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import { matrixOf } from './matrix.ts'
import { direct, openServer, scene } from './proxy-rig.ts'
import { silent, truthful } from './upstream.ts'
import { isCollapsed } from './viewer.ts'

const span = (from: number, to: number) => ({ from, to })

for (const viewers of [2, 20, 100]) {
  scene(`${viewers} viewers of one panel cause one query and get the same bytes`, async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const window = span(0, 240)
    const visits = Array.from({ length: viewers }, () => proxy.ask(window))
    const query = await proxy.upstream.untilAsked(1)
    await proxy.untilLookups(viewers)
    query.answer()
    const answers = await Promise.all(visits.map(({ answer }) => answer))
    for (const answer of answers) assert.equal(answer.body, direct(window))
    assert.equal(answers.filter(isCollapsed).length, viewers - 1)
    assert.deepEqual(proxy.asked, [window])
    await proxy.assertNothingLeft(window)
  })
}

scene('a viewer who comes while the answer already streams to the first gets all of it', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const window = span(0, 240)
  const first = proxy.ask(window)
  const { response } = await proxy.upstream.untilAsked(1)
  const body = direct(window)
  response.write(body.slice(0, body.length / 2))
  await first.head
  const second = await proxy.askAndSettle(window)
  response.end(body.slice(body.length / 2))
  assert.deepEqual([(await first.answer).body, (await second.answer).body], [body, body])
  assert.deepEqual(proxy.asked, [window])
  await proxy.assertNothingLeft(window)
})

scene('viewers who take other encodings share a flight', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const window = span(0, 240)
  const packed = proxy.ask(window, { headers: { 'accept-encoding': 'gzip' }, isReading: false })
  const { request, response, range } = await proxy.upstream.untilAsked(1)
  assert.equal(request.headers['accept-encoding'], 'gzip')
  const plain = await proxy.askAndSettle(window)
  response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(matrixOf(range)))
  assert.equal((await plain.answer).body, direct(window))
  const chunks = await (await packed.head).toArray()
  assert.equal(gunzipSync(Buffer.concat(chunks)).toString(), direct(window))
  assert.deepEqual(proxy.asked, [window])
  await proxy.assertNothingLeft(window)
})

scene('a first viewer who does not read does not hold the others', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const window = span(0, 240)
  const first = proxy.ask(window, { isReading: false })
  const query = await proxy.upstream.untilAsked(1)
  const second = await proxy.askAndSettle(window)
  // Far more than sockets buffer: the first viewer's connection is full long before the end.
  const filler = JSON.stringify(`PromQL info: ${'x'.repeat(8 * 1024 * 1024)}`)
  const body = direct(window).replace(/\}$/, `,"infos":[${filler}]}`)
  query.reply(200, body)
  assert.equal((await second.answer).body, body)
  assert.deepEqual(proxy.asked, [window])
  first.hangUp()
  await proxy.assertNothingLeft(window)
})

const overlaps = [
  {
    title: 'of an overlapping gap only the rest is fetched: behind the flight',
    windows: [span(0, 60), span(20, 100)],
    asked: [span(0, 60), span(60, 100)],
    isJoined: true,
  },
  {
    title: 'a flight in the middle of a gap is not joined',
    windows: [span(40, 60), span(0, 100)],
    asked: [span(40, 60), span(0, 100)],
    isJoined: false,
  },
] as const

for (const { title, windows, asked, isJoined } of overlaps) {
  scene(title, async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const first = await proxy.askAndSettle(windows[0])
    const second = await proxy.askAndSettle(windows[1])
    await proxy.upstream.untilAsked(2)
    assert.deepEqual(proxy.asked, asked)
    for (const query of proxy.upstream.asked) query.answer()
    assert.equal((await first.answer).body, direct(windows[0]))
    assert.equal((await second.answer).body, direct(windows[1]))
    assert.equal(isCollapsed(await second.answer), isJoined)
    await proxy.assertNothingLeft(span(0, 100))
  })
}

scene('of an overlapping gap only the rest is fetched: before the flight', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const first = await proxy.askAndSettle(span(40, 100))
  const second = await proxy.askAndSettle(span(0, 80))
  await proxy.upstream.untilAsked(2)
  assert.deepEqual(proxy.asked, [span(40, 100), span(0, 40)])
  // The rest comes first: the order of arrival is not the order of time.
  ;(await proxy.upstream.untilAsked(2)).answer()
  ;(await proxy.upstream.untilAsked(1)).answer()
  assert.equal((await first.answer).body, direct(span(40, 100)))
  assert.equal((await second.answer).body, direct(span(0, 80)))
  await proxy.assertNothingLeft(span(0, 100))
})

scene('viewers who join the same flight share its rest: one of them fetches it', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const first = await proxy.askAndSettle(span(0, 60))
  const visits = []
  for (let i = 0; i < 10; i++) visits.push(await proxy.askAndSettle(span(20, 100)))
  await proxy.upstream.untilAsked(2)
  await proxy.roundTrips()
  assert.deepEqual(proxy.asked, [span(0, 60), span(60, 100)])
  // The client that fetched the rest disconnects: the others still want it.
  visits.shift()!.hangUp()
  await proxy.roundTrips()
  for (const query of proxy.upstream.asked) query.answer()
  assert.equal((await first.answer).body, direct(span(0, 60)))
  for (const { answer } of visits) assert.equal((await answer).body, direct(span(20, 100)))
  await proxy.assertNothingLeft(span(0, 100))
})

scene('a gap behind stored buckets joins the flight for it', async (t) => {
  const proxy = await openServer(t)
  await proxy.ask(span(0, 60)).answer
  proxy.upstream.script = silent
  const second = await proxy.askAndSettle(span(0, 100))
  const third = await proxy.askAndSettle(span(30, 110))
  await proxy.upstream.untilAsked(3)
  assert.deepEqual(proxy.asked, [span(0, 60), span(60, 100), span(100, 110)])
  for (const query of proxy.upstream.asked.slice(1)) query.answer()
  assert.equal((await second.answer).body, direct(span(0, 100)))
  assert.equal((await third.answer).body, direct(span(30, 110)))
  await proxy.assertNothingLeft(span(0, 110))
})

scene(
  'no chains: one flight is joined, the rest is fetched although a second flight has some of it',
  async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const visits = [
      await proxy.askAndSettle(span(0, 40)),
      await proxy.askAndSettle(span(0, 60)),
      await proxy.askAndSettle(span(0, 80)),
    ]
    await proxy.upstream.untilAsked(3)
    assert.deepEqual(proxy.asked, [span(0, 40), span(40, 60), span(40, 80)])
    for (const query of proxy.upstream.asked) query.answer()
    const bodies = await Promise.all(visits.map(async ({ answer }) => (await answer).body))
    assert.deepEqual(bodies, [direct(span(0, 40)), direct(span(0, 60)), direct(span(0, 80))])
    await proxy.assertNothingLeft(span(0, 80))
  },
)

scene(
  'a request waits for its flight and its own fetch, not for a flight that it did not join',
  async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    await proxy.askAndSettle(span(0, 40))
    const second = await proxy.askAndSettle(span(0, 60))
    const third = await proxy.askAndSettle(span(0, 80))
    await proxy.upstream.untilAsked(3)
    ;(await proxy.upstream.untilAsked(1)).answer()
    ;(await proxy.upstream.untilAsked(3)).answer()
    assert.equal((await third.answer).body, direct(span(0, 80)))
    ;(await proxy.upstream.untilAsked(2)).answer()
    assert.equal((await second.answer).body, direct(span(0, 60)))
    await proxy.assertNothingLeft(span(0, 80))
  },
)

scene(
  'a flight more than four times as wide as the gap is not joined, one of exactly four times is',
  async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const wide = await proxy.askAndSettle(span(0, 100))
    const narrow = await proxy.askAndSettle(span(50, 74))
    await proxy.upstream.untilAsked(2)
    ;(await proxy.upstream.untilAsked(2)).answer()
    assert.equal((await narrow.answer).body, direct(span(50, 74)), 'it is not held by the wide one')
    proxy.forgetEverything()
    const quarter = await proxy.askAndSettle(span(50, 75))
    assert.deepEqual(proxy.asked, [span(0, 100), span(50, 74)])
    ;(await proxy.upstream.untilAsked(1)).answer()
    assert.equal((await wide.answer).body, direct(span(0, 100)))
    assert.equal((await quarter.answer).body, direct(span(50, 75)))
    assert.ok(isCollapsed(await quarter.answer))
    await proxy.assertNothingLeft(span(0, 100))
  },
)

scene('viewers of other questions, phases or identities do not join', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const window = span(0, 40)
  const visits = [
    await proxy.askAndSettle(window),
    await proxy.askAndSettle(window, { parameters: { query: 'load + 0' } }),
    await proxy.askAndSettle(window, { parameters: { lookback_delta: '1m' } }),
    await proxy.askAndSettle(window, { headers: { authorization: 'Bearer somebody' } }),
  ]
  await proxy.upstream.untilAsked(4)
  proxy.upstream.script = truthful
  for (const query of proxy.upstream.asked) query.answer()
  for (const { answer } of visits) assert.ok(!isCollapsed(await answer))
  await proxy.assertNothingLeft(window)
})
