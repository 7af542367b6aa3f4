/** `windowpane limits` against a running proxy: limits set there apply to its clients. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { askPlainly } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { adminAddress, readyAddress, runToEnd, startCommand } from './child.ts'

const configuration = `quotas:
  entity: header:X-Scope-OrgID
  limits:
    - { name: requests, capacity: 1000, refill: 10, every: 1h }
`

async function start(t: TestContext, ...flags: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-limits-'))
  t.after(() => rm(folder, { recursive: true }))
  const upstream = await startScriptedUpstream(t)
  const config = join(folder, 'windowpane.yaml')
  await writeFile(config, `backends: { main: { url: "${upstream.url}" } }\n${configuration}`)
  const listeners = ['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--admin.allow-writes=true']
  const child = startCommand(t, ['--config', config, ...listeners, '--telemetry.log-level=silent', ...flags])
  const [url, admin] = [await readyAddress(child), await adminAddress(child)]
  const path = rangePath({ start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 0, 1, 1) })
  return {
    folder,
    statusOf: async (tenant: string) =>
      (await askPlainly(url, path, { headers: { 'X-Scope-OrgID': tenant } })).status,
    limits: (...argv: string[]) =>
      runToEnd(t, ['limits', ...argv, '--admin', admin], { env: { USER: 'ann' } }),
    json: async (...argv: string[]) => {
      const { code, out, err } = await runToEnd(t, ['limits', ...argv, '--json', '--admin', admin])
      assert.equal(code, 0, err)
      return JSON.parse(out)
    },
  }
}

test('limits of the configuration are shown with the remaining tokens and the collection time of the row', async (t) => {
  const { json, statusOf } = await start(t)
  const before = await json('get', '--entity', 'team-a')
  assert.deepEqual([before.source, before.resource], ['system', 'main'])
  const [limit] = before.limits
  assert.deepEqual(
    [limit.name, limit.capacity, limit.available, limit.ttl],
    ['requests', 1000, 1000, 2_520_000],
  )
  assert.equal(await statusOf('team-a'), 200)
  const after = await json('get', '--entity', 'team-a')
  assert.equal(after.limits[0].available, 999)
  assert.ok(after.limits[0].ttl > 2_519_000 && after.limits[0].ttl <= 2_520_001)
})

for (const workers of [1, 2]) {
  test(`limits set while ${workers === 1 ? 'one thread serves' : 'two serve'} hold from the next request on`, async (t) => {
    const { limits, json, statusOf } = await start(t, `--workers=${workers}`)
    // All threads have the limits of this tenant cached.
    for (let i = 0; i < 12; i++) assert.equal(await statusOf('team-a'), 200)
    const set = await limits('set', '--entity', 'team-a', '--resource', 'main', '-l', 'requests:1/day')
    assert.equal(set.code, 0, set.err)
    const own = await json('get', '--entity', 'team-a')
    assert.deepEqual([own.source, own.limits[0].capacity, own.limits[0].ttl], ['entity', 1, 'none'])
    const statuses = []
    for (let i = 0; i < 12; i++) statuses.push(await statusOf('team-a'))
    assert.deepEqual(statuses, [200, ...Array(11).fill(429)])
    assert.equal(await statusOf('team-b'), 200)
    assert.equal((await limits('delete', '--entity', 'team-a', '--resource', 'main')).code, 0)
    assert.equal((await json('get', '--entity', 'team-a')).source, 'system')
    const audit = await json('audit')
    assert.deepEqual(
      audit.map(({ action, by }: { action: string; by: string }) => `${action} ${by}`),
      ['limits_deleted ann', 'limits_set ann'],
    )
  })
}

test('a declaration is planned, applied, and has nothing left to change', async (t) => {
  const { limits, json, folder, statusOf } = await start(t)
  const file = join(folder, 'limits.yaml')
  await writeFile(
    file,
    `resources:
  main: [requests:500]
entities:
  team-a: { parent: company, limits: [{ name: requests, capacity: 1, every: 1d }] }
  company: { limits: [{ name: requests, capacity: 100, refill: 50, every: 1h }] }
`,
  )
  assert.equal((await limits('set', '--entity', 'by-hand', '-l', 'requests:7')).code, 0)
  const plan = await limits('plan', file)
  assert.deepEqual([plan.code, /^4 changes, 0 unchanged\.$/m.test(plan.out)], [6, true], plan.err)
  assert.equal((await limits('apply', file)).code, 0)
  assert.deepEqual([(await limits('plan', file)).code, (await limits('diff', file)).code], [0, 0])
  assert.deepEqual([await statusOf('team-a'), await statusOf('team-a')], [200, 429])
  const company = await json('get', '--entity', 'company')
  assert.deepEqual([company.source, company.limits[0].available], ['entity_default', 99])
  assert.equal((await json('get', '--entity', 'by-hand')).source, 'entity_default')
  const usage = await json('usage', '--entity', 'team-a')
  assert.deepEqual(
    usage.map(({ permits, refusals }: { permits: number; refusals: number }) => [permits, refusals]),
    [[1, 1]],
  )
  await writeFile(file, '{}')
  assert.match((await limits('plan', file)).out, /- delete entity team-a: /)
  assert.equal((await limits('apply', file)).code, 0)
  const left = (await json('list')) as { entity?: string; from: string }[]
  assert.deepEqual(
    left.map(({ entity, from }) => `${entity} ${from}`),
    ['undefined configuration', 'by-hand store'],
  )
})

test('the declaration in the guide can be applied', async (t) => {
  const { limits, json, folder } = await start(t)
  const guide = await readFile('docs/guide/limits-administration.md', 'utf8')
  const file = join(folder, 'limits.yaml')
  await writeFile(file, /^```yml\n([\s\S]*?)^```$/m.exec(guide)![1]!)
  const applied = await limits('apply', file)
  assert.equal(applied.code, 0, applied.err)
  const teamB = await json('get', '--entity', 'team-b')
  assert.deepEqual([teamB.source, teamB.limits[1].capacity], ['entity', 100_000])
  assert.equal((await json('get', '--entity', 'team-a')).parent, 'company')
})
