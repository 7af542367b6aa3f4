/** Content encodings: the one that Prometheus itself would choose, or zstd where the answer is ours and the client reads it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { HOUR } from '../data/dataset.ts'
import { type Answer, outcomeOf } from './client.ts'
import { compareAnswers } from './compare.ts'
import { span, startBoth } from './setup.ts'
import type { Ask } from './spelling.ts'

const accepted = [
  undefined,
  'identity',
  'gzip',
  'deflate',
  'br, gzip',
  'br',
  'deflate, gzip',
  'gzip, deflate, br, zstd',
  'gzip;q=0.5, deflate;q=1',
  '*',
  'GZIP',
]

/** A phase of its own for every encoding, so that each begins with nothing stored. */
function ask(query: string, phaseMs: number, minutes: number): Ask {
  const start = (span.from + HOUR + phaseMs) / 1000
  const search = [
    ['query', query],
    ['start', String(start)],
    ['end', String(start + minutes * 60)],
    ['step', '60'],
  ] as const
  return { method: 'GET', search, form: [] }
}

function decoded(answer: Answer): Answer {
  const encoding = answer.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return answer
  const decode = { gzip: gunzipSync, deflate: inflateSync, zstd: zstdDecompressSync }[encoding]
  assert.ok(decode, `unexpected content encoding ${encoding}`)
  return { ...answer, body: decode(answer.body) }
}

test('answers are encoded as Prometheus would encode them, our own in zstd for clients that accept it', async (t) => {
  const clients = await startBoth(t)
  if (clients === null) return
  const { direct, proxied } = clients

  const compare = async (request: Ask, encoding: string | undefined, outcome: string) => {
    const headers = encoding === undefined ? {} : { 'accept-encoding': encoding }
    const [expected, got] = [
      await direct.queryRange(request, headers),
      await proxied.queryRange(request, headers),
    ]
    const where = `Accept-Encoding ${encoding}, ${got.headers['cache-status']}`
    assert.equal(outcomeOf(got).outcome, outcome, where)
    const isZstd = (outcome === 'partial' || outcome === 'hit') && encoding?.includes('zstd') === true
    const own = isZstd ? 'zstd' : expected.headers['content-encoding']
    assert.equal(got.headers['content-encoding'], own, where)
    assert.equal(compareAnswers(decoded(expected), decoded(got)), undefined, where)
  }

  for (const query of ['http_requests_total', 'nosuchmetric', 'odd_labels']) {
    for (const [index, encoding] of accepted.entries()) {
      await t.test(`${query}, ${encoding ?? 'no Accept-Encoding'}`, async () => {
        await compare(ask(query, index, 30), encoding, 'miss')
        await compare(ask(query, index, 40), encoding, 'partial')
        await compare(ask(query, index, 40), encoding, 'hit')
        // An answer fetched in one encoding is served in every other.
        for (const other of accepted) await compare(ask(query, index, 35), other, 'hit')
      })
    }
  }
  await t.test('errors and bypasses', async () => {
    for (const encoding of accepted) {
      await compare(ask('abs(sort(http_requests_total))', 0, 30), encoding, 'bypass')
      await compare(ask('http_requests_total{', 0, 30), encoding, 'bypass')
    }
  })
})
