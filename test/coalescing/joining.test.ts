/** Design §7, rules 1 and 2: who joins which flight, and what is asked of the database because of it. */
import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import { direct, openHouse, scene } from './house.ts'
import { matrixOf } from './matrix.ts'
import { silent, truthful } from './upstream.ts'
import { isCollapsed } from './viewer.ts'

const span = (from: number, to: number) => ({ from, to })

for (const viewers of [2, 20, 100]) {
  scene(`${viewers} viewers of one panel cause one query and get the same bytes`, async (t) => {
    const house = await openHouse(t)
    house.upstream.script = silent
    const window = span(0, 240)
    const visits = Array.from({ length: viewers }, () => house.ask(window))
    const query = await house.upstream.untilAsked(1)
    await house.untilLookups(viewers)
    query.answer()
    const answers = await Promise.all(visits.map(({ answer }) => answer))
    for (const answer of answers) assert.equal(answer.body, direct(window))
    assert.equal(answers.filter(isCollapsed).length, viewers - 1)
    assert.deepEqual(house.asked, [window])
    await house.assertNothingLeft(window)
  })
}

scene('a viewer who comes while the answer already streams to the first gets all of it', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const window = span(0, 240)
  const first = house.ask(window)
  const { response } = await house.upstream.untilAsked(1)
  const body = direct(window)
  response.write(body.slice(0, body.length / 2))
  await first.head
  const second = await house.askAndSettle(window)
  response.end(body.slice(body.length / 2))
  assert.deepEqual([(await first.answer).body, (await second.answer).body], [body, body])
  assert.deepEqual(house.asked, [window])
  await house.assertNothingLeft(window)
})

scene('viewers who take other encodings share a flight', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const window = span(0, 240)
  const packed = house.ask(window, { headers: { 'accept-encoding': 'gzip' }, isReading: false })
  const { request, response, range } = await house.upstream.untilAsked(1)
  assert.equal(request.headers['accept-encoding'], 'gzip')
  const plain = await house.askAndSettle(window)
  response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(matrixOf(range)))
  assert.equal((await plain.answer).body, direct(window))
  const chunks = await (await packed.head).toArray()
  assert.equal(gunzipSync(Buffer.concat(chunks)).toString(), direct(window))
  assert.deepEqual(house.asked, [window])
  await house.assertNothingLeft(window)
})

scene('a first viewer who does not read does not hold the others', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const window = span(0, 240)
  const first = house.ask(window, { isReading: false })
  const query = await house.upstream.untilAsked(1)
  const second = await house.askAndSettle(window)
  // Far more than sockets buffer: the first viewer's connection is full long before the end.
  const filler = JSON.stringify(`PromQL info: ${'x'.repeat(8 * 1024 * 1024)}`)
  const body = direct(window).replace(/\}$/, `,"infos":[${filler}]}`)
  query.reply(200, body)
  assert.equal((await second.answer).body, body)
  assert.deepEqual(house.asked, [window])
  first.hangUp()
  await house.assertNothingLeft(window)
})

scene('of an overlapping gap only the rest is asked for: behind the flight', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const first = await house.askAndSettle(span(0, 60))
  const second = await house.askAndSettle(span(20, 100))
  await house.upstream.untilAsked(2)
  assert.deepEqual(house.asked, [span(0, 60), span(60, 100)])
  for (const query of house.upstream.asked) query.answer()
  assert.equal((await first.answer).body, direct(span(0, 60)))
  assert.equal((await second.answer).body, direct(span(20, 100)))
  assert.ok(isCollapsed(await second.answer))
  await house.assertNothingLeft(span(0, 100))
})

scene('of an overlapping gap only the rest is asked for: before the flight', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const first = await house.askAndSettle(span(40, 100))
  const second = await house.askAndSettle(span(0, 80))
  await house.upstream.untilAsked(2)
  assert.deepEqual(house.asked, [span(40, 100), span(0, 40)])
  // The rest comes first: the order of arrival is not the order of time.
  ;(await house.upstream.untilAsked(2)).answer()
  ;(await house.upstream.untilAsked(1)).answer()
  assert.equal((await first.answer).body, direct(span(40, 100)))
  assert.equal((await second.answer).body, direct(span(0, 80)))
  await house.assertNothingLeft(span(0, 100))
})

scene('viewers who join the same flight share what it does not bring: one of them asks for it', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const first = await house.askAndSettle(span(0, 60))
  const visits = []
  for (let i = 0; i < 10; i++) visits.push(await house.askAndSettle(span(20, 100)))
  await house.upstream.untilAsked(2)
  await house.roundTrips()
  assert.deepEqual(house.asked, [span(0, 60), span(60, 100)])
  // Who asked for the rest goes: it is still wanted by the others.
  visits.shift()!.hangUp()
  await house.roundTrips()
  for (const query of house.upstream.asked) query.answer()
  assert.equal((await first.answer).body, direct(span(0, 60)))
  for (const { answer } of visits) assert.equal((await answer).body, direct(span(20, 100)))
  await house.assertNothingLeft(span(0, 100))
})

scene('a gap behind stored buckets joins the flight for it', async (t) => {
  const house = await openHouse(t)
  await house.ask(span(0, 60)).answer
  house.upstream.script = silent
  const second = await house.askAndSettle(span(0, 100))
  const third = await house.askAndSettle(span(30, 110))
  await house.upstream.untilAsked(3)
  assert.deepEqual(house.asked, [span(0, 60), span(60, 100), span(100, 110)])
  for (const query of house.upstream.asked.slice(1)) query.answer()
  assert.equal((await second.answer).body, direct(span(0, 100)))
  assert.equal((await third.answer).body, direct(span(30, 110)))
  await house.assertNothingLeft(span(0, 110))
})

scene(
  'no chains: one flight is joined, the rest is asked for although a second flight has some of it',
  async (t) => {
    const house = await openHouse(t)
    house.upstream.script = silent
    const visits = [
      await house.askAndSettle(span(0, 40)),
      await house.askAndSettle(span(0, 60)),
      await house.askAndSettle(span(0, 80)),
    ]
    await house.upstream.untilAsked(3)
    assert.deepEqual(house.asked, [span(0, 40), span(40, 60), span(40, 80)])
    for (const query of house.upstream.asked) query.answer()
    const bodies = await Promise.all(visits.map(async ({ answer }) => (await answer).body))
    assert.deepEqual(bodies, [direct(span(0, 40)), direct(span(0, 60)), direct(span(0, 80))])
    await house.assertNothingLeft(span(0, 80))
  },
)

scene(
  'a request waits for its flight and its own fetch, not for a flight that it did not join',
  async (t) => {
    const house = await openHouse(t)
    house.upstream.script = silent
    await house.askAndSettle(span(0, 40))
    const second = await house.askAndSettle(span(0, 60))
    const third = await house.askAndSettle(span(0, 80))
    await house.upstream.untilAsked(3)
    ;(await house.upstream.untilAsked(1)).answer()
    ;(await house.upstream.untilAsked(3)).answer()
    assert.equal((await third.answer).body, direct(span(0, 80)))
    ;(await house.upstream.untilAsked(2)).answer()
    assert.equal((await second.answer).body, direct(span(0, 60)))
    await house.assertNothingLeft(span(0, 80))
  },
)

scene(
  'a flight more than four times as wide as the gap is not joined, one of exactly four times is',
  async (t) => {
    const house = await openHouse(t)
    house.upstream.script = silent
    const wide = await house.askAndSettle(span(0, 100))
    const narrow = await house.askAndSettle(span(50, 74))
    await house.upstream.untilAsked(2)
    ;(await house.upstream.untilAsked(2)).answer()
    assert.equal((await narrow.answer).body, direct(span(50, 74)), 'it is not held by the wide one')
    house.forgetEverything()
    const quarter = await house.askAndSettle(span(50, 75))
    assert.deepEqual(house.asked, [span(0, 100), span(50, 74)])
    ;(await house.upstream.untilAsked(1)).answer()
    assert.equal((await wide.answer).body, direct(span(0, 100)))
    assert.equal((await quarter.answer).body, direct(span(50, 75)))
    assert.ok(isCollapsed(await quarter.answer))
    await house.assertNothingLeft(span(0, 100))
  },
)

scene('a flight in the middle of a gap is not joined', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const middle = await house.askAndSettle(span(40, 60))
  const around = await house.askAndSettle(span(0, 100))
  await house.upstream.untilAsked(2)
  assert.deepEqual(house.asked, [span(40, 60), span(0, 100)])
  for (const query of house.upstream.asked) query.answer()
  assert.equal((await middle.answer).body, direct(span(40, 60)))
  assert.equal((await around.answer).body, direct(span(0, 100)))
  assert.ok(!isCollapsed(await around.answer))
  await house.assertNothingLeft(span(0, 100))
})

scene('viewers of other questions, phases or identities do not join', async (t) => {
  const house = await openHouse(t)
  house.upstream.script = silent
  const window = span(0, 40)
  const visits = [
    await house.askAndSettle(window),
    await house.askAndSettle(window, { parameters: { query: 'load + 0' } }),
    await house.askAndSettle(window, { parameters: { lookback_delta: '1m' } }),
    await house.askAndSettle(window, { headers: { authorization: 'Bearer somebody' } }),
  ]
  await house.upstream.untilAsked(4)
  house.upstream.script = truthful
  for (const query of house.upstream.asked) query.answer()
  for (const { answer } of visits) assert.ok(!isCollapsed(await answer))
  await house.assertNothingLeft(window)
})
