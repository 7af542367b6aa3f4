/** Compressed request bodies are never decompressed: they are counted as they come, passed on as they came, and not cached. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { ask, askPlainly, outcomeOf } from '../proxy/client.ts'
import { rangeSearch } from '../proxy/matrix.ts'
import { bodyOf } from '../proxy/scripted-upstream.ts'
import { oldRange, startBoth } from '../proxy/setup.ts'

const MiB = 2 ** 20
const form = rangeSearch(oldRange())
const path = '/api/v1/query_range'
const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }

test('an encoded form reaches the database byte for byte, and its answer is not shared', async (t) => {
  const { url, upstream } = await startBoth(t)
  const bodies: Record<string, readonly [encoding: string, body: Buffer]> = {
    gzip: ['gzip', gzipSync(form)],
    'a truncated one': ['gzip', gzipSync(form).subarray(0, 30)],
    'a bomb': ['gzip', gzipSync(Buffer.alloc(64 * MiB, 'query=up&'))],
    'gzip in gzip': ['gzip, gzip', gzipSync(gzipSync(form))],
    deflate: ['deflate', deflateSync(form)],
    'an unknown encoding of the body': ['snake-oil', Buffer.from(form)],
    'a form that claims to be encoded': ['gzip', Buffer.from(form)],
    identity: ['identity', Buffer.from(form)],
    'an empty list': [',', Buffer.from(form)],
  }
  for (const [name, [encoding, body]] of Object.entries(bodies)) {
    let received: Promise<Buffer> | undefined
    upstream.script = async (request, response) => {
      received = bodyOf(request)
      await received
      response.end(`answer to ${name}`)
    }
    const headers = { ...formType, 'Content-Encoding': encoding }
    for (let i = 0; i < 2; i++) {
      const answer = await ask(url, path, { method: 'POST', headers, body })
      assert.deepEqual(
        [outcomeOf(answer), answer.body.toString()],
        ['bypass/malformed_request', `answer to ${name}`],
      )
      assert.ok((await received!).equals(body), name)
    }
  }
})

test('a compressed body is measured as it comes, before anything else is done with it', async (t) => {
  const maxRequestBytes = 4096
  const { url, upstream, budget } = await startBoth(t, { limits: { maxRequestBytes } })
  const used = budget.used
  const bomb = gzipSync(Buffer.alloc(3 * MiB, 'x'))
  assert.ok(bomb.length < maxRequestBytes)
  upstream.script = async (request, response) => response.end(String((await bodyOf(request)).length))
  const headers = { ...formType, 'Content-Encoding': 'gzip' }
  const small = await ask(url, path, { method: 'POST', headers, body: bomb })
  assert.equal(small.body.toString(), String(bomb.length))
  const long = gzipSync(Buffer.alloc(9 * MiB, 'x'))
  assert.ok(long.length > maxRequestBytes)
  const refused = await askPlainly(url, path, { method: 'POST', headers, body: long })
  assert.deepEqual([refused.status, outcomeOf(refused)], [413, 'refused/request_too_large'])
  assert.equal(upstream.seen.length, 1)
  assert.equal(budget.used, used)
})
