/** TLS on the listener of several workers: each of them shows the certificate, and the new one when it is exchanged. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { authority, folder, needsOpenssl } from '../upstream/certificates.ts'
import { eventually } from '../wait.ts'
import { many, startWorkers } from './running-workers.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 1_800_000 })

interface Seen {
  readonly body: string
  /** The name on the certificate. */
  readonly name: string
}

/** On a connection of its own. */
function askSecurely(url: string, ca: Buffer): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const asked = request(url + path, { ca, agent: false }, (response) => {
      const name = String((response.socket as TLSSocket).getPeerCertificate().subject.CN)
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      response.on('end', () => resolve({ body: Buffer.concat(chunks).toString(), name }))
    })
    asked.on('error', reject).end()
  })
}

test(
  'two workers behind TLS share one cache, and a new certificate reaches both',
  needsOpenssl,
  async (t) => {
    const ours = authority('workers')
    const [first, second] = [ours.issue('first'), ours.issue('second')]
    const [cert, key] = [join(folder, 'shown.pem'), join(folder, 'shown.key')]
    const install = (pair: typeof first) => {
      copyFileSync(pair.key, key)
      copyFileSync(pair.cert, cert)
    }
    install(first)
    const upstream = await startScriptedUpstream(t)
    const { url, counted } = await startWorkers(t, {
      upstream,
      flags: [`--tls.cert=${cert}`, `--tls.key=${key}`, '--telemetry.log-level=silent'],
    })
    assert.match(url, /^https:/)
    const ca = readFileSync(ours.cert)
    const askAll = () => Promise.all(many(0).map(() => askSecurely(url, ca)))
    const namesOf = (seen: readonly Seen[]): string[] => [...new Set(seen.map(({ name }) => name))]

    const seen = await askAll()
    const truth = matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1).toString()
    for (const { body } of seen) assert.equal(body, truth)
    assert.deepEqual(namesOf(seen), ['workers-first'])
    assert.equal(upstream.seen.filter(({ target }) => target.includes('query_range')).length, 1)
    await eventually(
      () => counted('windowpane_requests_total'),
      (count) => count === seen.length,
    )

    install(second)
    const isNew = (names: readonly string[]) => names.length === 1 && names[0] === 'workers-second'
    await eventually(async () => namesOf(await askAll()), isNew)
  },
)
