/** The database's trailers reach the sink: they may report that the body is incomplete. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import type { HeaderList, ResponseEnds, Sink } from '../../src/backends/backend.ts'
import { Budget } from '../../src/core/budget.ts'
import { systemClock } from '../../src/core/clock.ts'
import { noLimits } from '../../src/core/lifetime.ts'
import { Backlog } from '../../src/engine/backlog.ts'
import { Intake } from '../../src/engine/intake.ts'
import type { Encoding } from '../../src/engine/ports.ts'
import { HttpUpstream } from '../../src/proxy/upstream/upstream.ts'
import { ListeningTarget } from '../rigs/listening-target.ts'
import { HANG_MS } from '../wait.ts'

const text = JSON.stringify({ rows: Array.from({ length: 5_000 }, (_, i) => i) })
const pack = { identity: (body: Buffer) => body, gzip: gzipSync, deflate: deflateSync }

let server: Server
let upstream: HttpUpstream

before(async () => {
  server = createServer((request, response) => {
    const encoding = request.headers['accept-encoding'] as Encoding
    const hasTrailers = request.url !== '/without'
    response.writeHead(200, {
      'Content-Type': 'application/json',
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
      ...(hasTrailers && { Trailer: 'X-Complete, X-Context' }),
    })
    const body = pack[encoding](Buffer.from(text))
    response.write(body.subarray(0, 1000))
    if (hasTrailers) response.addTrailers({ 'X-Complete': 'false', 'X-Context': '{"a":1}' })
    response.end(body.subarray(1000))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const options = { clock: systemClock, connections: 2, idleTimeoutMs: HANG_MS, via: 'test' }
  upstream = new HttpUpstream({ url, ...options })
})

after(async () => {
  await upstream.close()
  server.close()
})

/** Takes everything, remembers how it ended, and cuts nothing. */
class ListeningSink implements Sink {
  readonly held = 0
  text = ''
  ends: ResponseEnds | undefined

  write(chunk: Uint8Array): void {
    this.text += Buffer.from(chunk).toString('latin1')
  }

  end(_fetchedAt: number, ends: ResponseEnds): { unusable: string } {
    this.ends = ends
    return { unusable: 'only listened to' }
  }
}

const request = (path: string) => ({ method: 'GET', path, search: '', headers: [], body: new Uint8Array() })

async function fetched(path: string, encoding: Encoding, target?: ListeningTarget): Promise<ListeningSink> {
  const sink = new ListeningSink()
  const intake = new Intake({
    ...{ fetchedAt: 0, budget: new Budget(1 << 24), maxAnswerBytes: 1 << 20, target },
    ...{ backlog: new Backlog(systemClock), newSink: () => sink, isTransparent: target !== undefined },
    termsOf: () => ({ limits: noLimits }),
    land: async () => {},
  })
  intake.sent(upstream.send(request(path), encoding, intake))
  await intake.result
  return sink
}

const named = (list: HeaderList, name: string): string | undefined => {
  const at = list.findIndex((each, i) => i % 2 === 0 && each.toLowerCase() === name)
  return at < 0 ? undefined : list[at + 1]
}

for (const encoding of ['identity', 'gzip', 'deflate'] as const) {
  test(`trailers reach the sink with the whole body (${encoding})`, async () => {
    const { text: got, ends } = await fetched('/with', encoding)
    assert.equal(got, text)
    assert.deepEqual(
      [named(ends!.trailers, 'x-complete'), named(ends!.trailers, 'x-context')],
      ['false', '{"a":1}'],
    )
    assert.equal(named(ends!.headers, 'content-type'), 'application/json')
    assert.equal(named(ends!.headers, 'x-complete'), undefined)
  })

  test(`an answer without trailers has none (${encoding})`, async () => {
    const { text: got, ends } = await fetched('/without', encoding)
    assert.equal(got, text)
    assert.deepEqual(ends!.trailers, [])
  })

  test(`trailers reach the sink of a shadow, too (${encoding})`, async () => {
    const target = new ListeningTarget()
    const { ends } = await fetched('/with', encoding, target)
    assert.equal(named(ends!.trailers, 'x-complete'), 'false')
    assert.equal(target.ending, 'whole')
  })
}
