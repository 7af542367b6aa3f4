/** Windows that were never compressed before, put together from compressed pieces of the panes they are made of. */
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { mixSeeds } from '../../src/testing/random.ts'
import { type Answer, ask, header, outcomeOf } from './client.ts'
import { matrix, rangePath, series } from './matrix.ts'
import { oldRange, startBoth } from './setup.ts'

const minute = 60_000
const gzip = { headers: { 'Accept-Encoding': 'gzip' } }
const all = oldRange(1, 2_000)

/** Twenty series with values of their own. */
function answerTo(target: string): string {
  const { searchParams } = new URL(target, 'http://x')
  const [start, end] = ['start', 'end'].map((name) => Number(searchParams.get(name)))
  const rows = Array.from({ length: 20 }, (_, row) => {
    const points: string[] = []
    for (let at = start!; at <= end!; at += 60) points.push(`[${at},"${mixSeeds(at, row) / 1000}"]`)
    return series(`row_${10 + row}`, points)
  })
  return matrix(rows)
}

const script: RequestListener = (request, response) => void response.end(answerTo(request.url!))

const windowAt = (shift: number, buckets = 500): string =>
  rangePath({
    start: all.start + shift * minute,
    end: all.start + (shift + buckets - 1) * minute,
  })

/** zlib names the system it runs on; pieces come from none in particular. */
const isSpliced = (answer: Answer): boolean => answer.body[9] === 0xff

function checkGzip(answer: Answer, target: string): void {
  assert.equal(header(answer, 'content-encoding'), 'gzip')
  assert.equal(header(answer, 'content-length'), String(answer.body.length))
  assert.ok(gunzipSync(answer.body).toString() === answerTo(target), `another answer to ${target}`)
}

/** Requests one window after the other, never the same; returns the first shift that was assembled from pieces. */
async function slideUntilSpliced(url: string, targetAt: (shift: number) => string): Promise<number> {
  for (let shift = 0; shift < 1_000; shift++) {
    const answer = await ask(url, targetAt(shift), gzip)
    checkGzip(answer, targetAt(shift))
    if (isSpliced(answer)) return shift
  }
  return assert.fail('no window was put together from pieces')
}

test('a window that slides over stored buckets is assembled from pieces, and equals the database’s answer', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = script
  await ask(url, rangePath(all))
  const first = await slideUntilSpliced(url, windowAt)
  assert.ok(first > 0, 'the first has nothing to be put together from')
  for (let shift = first + 1; shift < first + 100; shift++) {
    const answer = await ask(url, windowAt(shift), gzip)
    assert.equal(outcomeOf(answer), 'hit')
    assert.ok(isSpliced(answer), `window ${shift}`)
    checkGzip(answer, windowAt(shift))
  }
  assert.equal(upstream.seen.filter(({ request }) => request.url!.includes('query_range')).length, 1)
})

test('the same window again is the same bytes, plain or compressed', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = script
  await ask(url, rangePath(all))
  const target = windowAt(await slideUntilSpliced(url, windowAt))
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(url, target, gzip)))
  for (const answer of answers) checkGzip(answer, target)
  assert.equal((await ask(url, target)).body.toString(), answerTo(target))
})

test('a dashboard that moves with time: pieces of the old buckets serve when new ones join them', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = script
  await ask(url, windowAt(0))
  const first = await slideUntilSpliced(url, windowAt)
  let spliced = 0
  for (let shift = first + 1; shift < first + 200; shift++) {
    const answer = await ask(url, windowAt(shift), gzip)
    assert.equal(outcomeOf(answer), 'partial/absent')
    checkGzip(answer, windowAt(shift))
    if (isSpliced(answer)) spliced++
  }
  assert.ok(spliced > 150, `${spliced} of 199`)
})

test('short windows and other encodings are compressed whole', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = script
  await ask(url, rangePath(all))
  const first = await slideUntilSpliced(url, windowAt)
  const short = windowAt(first, 100)
  const answer = await ask(url, short, gzip)
  checkGzip(answer, short)
  assert.ok(!isSpliced(answer))
  const deflated = await ask(url, windowAt(first + 1), { headers: { 'Accept-Encoding': 'deflate' } })
  assert.equal(header(deflated, 'content-encoding'), 'deflate')
})
