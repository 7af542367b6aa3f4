/** `/-/ready`, by which orchestrators decide whether to send requests: it must not wait for those requests. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askPlainly } from '../proxy/client.ts'
import { json, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { freePort } from '../servers/ports.ts'
import { eventually } from '../wait.ts'
import { adminAddress, startCommand } from './child.ts'

async function startBefore(t: TestContext, upstream: string): Promise<() => Promise<string>> {
  const flags = ['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--telemetry.log-level=silent']
  const child = startCommand(t, [upstream, ...flags])
  const admin = await adminAddress(child)
  return async () => {
    const answer = await askPlainly(admin, '/-/ready')
    return `${answer.status} ${answer.body}`
  }
}

test('a database that comes up later is noticed without a query of a client', async (t) => {
  const port = await freePort()
  const ready = await startBefore(t, `http://127.0.0.1:${port}`)
  assert.match(await ready(), /^503 not ready: main: not reached: /)
  const upstream = await startScriptedUpstream(t, port)
  const last = await eventually(ready, (reply) => reply.startsWith('200'))
  assert.deepEqual([last, upstream.seen.length], ['200 ready\n', 0])
})

const strangers = {
  'one that is not Prometheus': json(200, { status: 'success', data: { version: '0.36.1' } }),
  'one that requires credentials for everything': json(401, {}),
}

for (const [name, buildInfo] of Object.entries(strangers)) {
  test(`${name} is passed through, so it is ready`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    upstream.buildInfo = buildInfo
    assert.equal(await (await startBefore(t, upstream.url))(), '200 ready\n')
  })
}

test('a database that still starts is not', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.buildInfo = json(503, {})
  assert.match(
    await (await startBefore(t, upstream.url))(),
    /^503 not ready: main: no build info \(status 503\)/,
  )
})
