/** Texts that made the process take quadratic time: each froze it for seconds to hours. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { requestText } from '../../src/backends/druid/shape-text.ts'
import { systemClock } from '../../src/core/clock.ts'
import { rawClient } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { oldRange, startBoth } from '../proxy/setup.ts'

test('a header value with many spaces inside is read at once', async (t) => {
  const { url } = await startBoth(t)
  for (const space of [' ', '\t', ' \t']) {
    const client = await rawClient(url)
    const value = `a${space.repeat(900_000 / space.length)}b`
    client.write(`GET ${rangePath(oldRange())} HTTP/1.1\r\nHost: a\r\nX-Any: ${value}\r\n\r\n`)
    await client.has('HTTP/1.1 200 OK\r\n')
    client.socket.destroy()
  }
})

test('a Cache-Control that is too long to be read is taken for no-store', async (t) => {
  const { url } = await startBoth(t)
  const client = await rawClient(url)
  client.write(
    `GET ${rangePath(oldRange())} HTTP/1.1\r\nHost: a\r\nCache-Control: ${','.repeat(900_000)}\r\n\r\n`,
  )
  await client.has('bypass/no_store')
  client.socket.destroy()
})

/** The shortest of some runs, so that other load on the machine does not count. It ends early where the time is short enough. */
function quickest(body: Buffer, enough: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 50 && best > enough; run++) {
    const began = systemClock.elapsed()
    requestText({ path: '/druid/v2', body })
    best = Math.min(best, systemClock.elapsed() - began)
  }
  return best
}

for (const text of ['[', '[{', '{"a":', '[[],', '[[,', '"', '{"a":[', '\\']) {
  test(`the log’s description of a broken query is found in linear time: ${text}`, () => {
    const bytes = (count: number) => Buffer.from(text.repeat(count / text.length))
    const short = Math.max(0.02, quickest(bytes(500), 0.02))
    // Sixteen times as long: a quadratic reader takes 256 times as long.
    const long = quickest(bytes(8000), 80 * short)
    assert.ok(long <= 80 * short, `${long} ms for sixteen times the text of ${short} ms`)
  })
}
