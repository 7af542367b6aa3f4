import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectedDatabase } from '../backends/kind.ts'
import { judge } from './judge.ts'
import { loadConfig } from './load.ts'

/** A server with Prometheus' API that does not report its kind. */
const unnamed = (status: number): ConnectedDatabase => ({
  async get(path) {
    const isBuildInfo = path.endsWith('/buildinfo')
    const text = '{"status":"success","data":{"version":"x"}}'
    return { status: isBuildInfo ? status : 200, text, date: undefined }
  },
  post: () => Promise.reject(new Error('not asked for')),
  close: async () => {},
})

const url = 'http://127.0.0.1:9090'

async function judged(text: string, status = 200): Promise<[verdict: string, found: string]> {
  const bytes = Buffer.from(`backends: { main: { url: "${url}", type: prometheus, ${text} } }`)
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes } })
  assert.ok('config' in loaded)
  const { verdict, found } = await judge(unnamed(status), loaded.config.backends['main']!, url)
  return [verdict, found]
}

test('a server that is not known is forwarded uncached', async () => {
  const [verdict, found] = await judged('')
  assert.equal(verdict, 'uncached')
  assert.match(found, /; requests are forwarded uncached$/)
})

test('a server that is assumed to be Prometheus is compared first', async () => {
  for (const status of [200, 404]) {
    const [verdict, found] = await judged('assume: prometheus', status)
    assert.equal(verdict, 'known')
    assert.match(found, /^assumed to be Prometheus: .*; it stays in shadow mode until/)
  }
  assert.equal((await judged('assume: prometheus', 500))[0], 'uncached')
})
