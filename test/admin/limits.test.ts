import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EntityStatus } from '../../src/limits/limit.ts'
import { LimitRegistry } from '../../src/limits/registry.ts'
import { readUsage, UsageCounter } from '../../src/limits/usage.ts'
import type { AdminLimits } from '../../src/proxy/admin/limits.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { askPlainly } from '../proxy/client.ts'
import { NOW, startProxyRig } from './proxy-rig.ts'

const system = [{ name: 'requests', capacity: 1000, refillAmount: 10, refillPeriodSeconds: 60 }]

function limitsOn(clock: FakeClock, isFailing: () => boolean) {
  const cells = memoryCells({ clock })
  const failing = new Proxy(cells, {
    get(target, name) {
      if (isFailing()) throw new Error('down')
      const member = Reflect.get(target, name) as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const registry = new LimitRegistry(failing, { clock, base: () => ({ system }) })
  const usage = new UsageCounter(cells, { clock })
  const limits: AdminLimits = {
    ...{ registry, usage, resources: ['main', 'other'] },
    async status(entity, resource): Promise<EntityStatus | undefined> {
      const resolved = await registry.resolve(entity, resource)
      if (resolved === undefined) return undefined
      const left = resolved.limits.map((limit) => ({ limit, available: limit.capacity, isExceeded: false }))
      const ttl = resolved.source === 'entity' ? 'none' : clock.now() + 41_999_001
      return { source: resolved.source, limits: left, ttl }
    },
    readUsage: (query) => readUsage(cells, query),
  }
  return { limits, usage }
}

async function start(t: TestContext, options: { writes?: boolean; isFailing?: () => boolean } = {}) {
  const clock = fakeClock(NOW)
  const { limits, usage } = limitsOn(clock, options.isFailing ?? (() => false))
  const { admin } = await startProxyRig(t, {
    ...{ clock, limits: () => limits },
    allowsWrites: () => options.writes ?? true,
  })
  const ask = async (method: string, path: string, body?: unknown) => {
    const content = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }
    const answer = await askPlainly(admin, path, { method, ...content })
    const said = answer.body.toString()
    return { status: answer.status, said, json: said.startsWith('windowpane') ? undefined : JSON.parse(said) }
  }
  return { ask, usage, clock, admin }
}

test('limits are set, seen in force, listed and removed', async (t) => {
  const { ask } = await start(t)
  const before = await ask('GET', '/-/limits?entity=team-a')
  assert.deepEqual(before.json, {
    ...{ entity: 'team-a', resource: 'main', source: 'system' },
    limits: [{ ...system[0], available: 1000, ttl: 42_000 }],
  })
  const put = await ask('PUT', '/-/limits?entity=team-a&resource=main&by=ann', {
    limits: ['requests:5/sec:9'],
  })
  assert.deepEqual(
    [put.status, put.json],
    [200, { entity: 'team-a', resource: 'main', changed: true, version: 1 }],
  )
  const after = await ask('GET', '/-/limits?entity=team-a&resource=main')
  assert.deepEqual(after.json, {
    ...{ entity: 'team-a', resource: 'main', source: 'entity' },
    limits: [
      { name: 'requests', capacity: 9, refillAmount: 5, refillPeriodSeconds: 1, available: 9, ttl: 'none' },
    ],
  })
  assert.equal((await ask('PUT', '/-/limits?entity=team-a', { parent: 'company' })).status, 200)
  const listed = (await ask('GET', '/-/limits')).json as { level: string; from: string }[]
  assert.deepEqual(
    listed.map(({ level, from }) => `${level} ${from}`),
    ['system configuration', 'entity store', 'parent store'],
  )
  assert.equal((await ask('GET', '/-/limits?entity=team-a&resource=other')).json.parent, 'company')
  assert.equal((await ask('DELETE', '/-/limits?entity=team-a&parent=1')).json.changed, true)
  assert.equal((await ask('DELETE', '/-/limits?entity=team-a&resource=main')).json.changed, true)
  assert.equal((await ask('DELETE', '/-/limits?entity=team-a&resource=main')).json.changed, false)
  const audit = (await ask('GET', '/-/limits/audit')).json as { action: string; by: string; from: string }[]
  assert.deepEqual(audit.map(({ action, by }) => `${action} ${by}`).sort(), [
    'limits_deleted admin API',
    'limits_set ann',
    'parent_deleted admin API',
    'parent_set admin API',
  ])
  assert.ok(audit.every(({ from }) => from.endsWith('127.0.0.1')))
})

test('changes need permission to write, looking does not', async (t) => {
  const { ask } = await start(t, { writes: false })
  for (const [method, path] of [
    ['PUT', '/-/limits?system=1'],
    ['DELETE', '/-/limits?system=1'],
    ['POST', '/-/limits/apply'],
    ['POST', '/-/limits/apply?dryRun=yes'],
  ] as const) {
    const { status, said } = await ask(method, path, method === 'DELETE' ? undefined : { limits: ['a:1'] })
    assert.deepEqual([status, /allowWrites/.test(said)], [403, true], `${method} ${path}`)
  }
  for (const path of ['/-/limits', '/-/limits?entity=a', '/-/limits/usage', '/-/limits/audit']) {
    assert.equal((await ask('GET', path)).status, 200, path)
  }
  assert.equal((await ask('POST', '/-/limits/apply?dryRun=1', { limits: ['a:1'] })).status, 200)
})

test('mistakes are answered with a sentence', async (t) => {
  const { ask } = await start(t)
  const fine = { limits: ['requests:5'] }
  for (const [method, path, body, sentence] of [
    ['PUT', '/-/limits', fine, /name the owner of the limits/],
    ['PUT', '/-/limits?system=1&entity=a', fine, /name the owner of the limits/],
    ['PUT', '/-/limits?entity=a%23b', fine, /no name of an entity/],
    ['PUT', '/-/limits?entity=a', {}, /give "limits" or "parent"/],
    ['PUT', '/-/limits?entity=a', { limits: 5 }, /expected a list/],
    ['PUT', '/-/limits?entity=a', { parent: 5 }, /name of an entity/],
    ['PUT', '/-/limits?entity=a', { limit: 5 }, /"limit" is not known/],
    ['PUT', '/-/limits?entity=a&by=%1b', fine, /control characters/],
    ['PUT', '/-/limits?entity=a&by=', fine, /1 to 128 characters/],
    ['DELETE', '/-/limits', undefined, /name the owner of the limits/],
    ['GET', '/-/limits?entity=a%23b', undefined, /no name of an entity/],
    ['GET', '/-/limits?entity=a&resource=_default_', undefined, /no name of a resource/],
    ['GET', '/-/limits/usage?window=week', undefined, /window is hour or day/],
    ['GET', '/-/limits/usage?from=-1w', undefined, /at most 100 windows/],
    ['GET', '/-/limits/usage?from=tomorrow', undefined, /are times/],
    ['GET', '/-/limits/audit?limit=0', undefined, /limit is a whole number/],
    ['POST', '/-/limits/apply', [], /expected a map/],
    ['POST', '/-/limits/apply?by=%00', {}, /control characters/],
  ] as const) {
    const { status, said } = await ask(method, path, body)
    assert.equal(status, 400, `${method} ${path}: ${said}`)
    assert.match(said, sentence)
  }
  assert.equal((await ask('POST', '/-/limits')).status, 405)
})

test('a declaration is planned, applied, and then has nothing left to change', async (t) => {
  const { ask } = await start(t)
  const declaration = { limits: ['requests:7'], entities: { a: { parent: 'p', limits: ['requests:5'] } } }
  const plan = (await ask('POST', '/-/limits/apply?dryRun=1', declaration)).json
  assert.deepEqual(
    [plan.dryRun, plan.changes.map(({ action, level }: never) => `${action} ${level}`)],
    [true, ['create system', 'create parent', 'create entity_default']],
  )
  assert.deepEqual((await ask('GET', '/-/limits/audit')).json, [])
  const applied = (await ask('POST', '/-/limits/apply?by=ci', declaration)).json
  assert.deepEqual([applied.dryRun, applied.changed], [false, 3])
  const again = (await ask('POST', '/-/limits/apply', declaration)).json
  assert.deepEqual([again.changes, again.unchanged, again.changed], [[], 3, 0])
})

test('usage is written before it is read', async (t) => {
  const { ask, usage, clock } = await start(t)
  usage.permitted('a', 'main', { requests: 2 })
  await clock.advance(3_600_000)
  usage.permitted('a', 'main', { requests: 1 })
  usage.refused('b', 'main')
  const { json } = await ask('GET', '/-/limits/usage?entity=a')
  assert.deepEqual(
    json.map(({ start: at, permits, tokens }: never) => [at, permits, tokens]),
    [
      [new Date(NOW + 3_600_000).toISOString(), 1, { requests: 1 }],
      [new Date(NOW).toISOString(), 1, { requests: 2 }],
    ],
  )
  const days = (await ask('GET', '/-/limits/usage?window=day')).json
  assert.deepEqual(
    days.map(({ entity, refusals }: never) => [entity, refusals]),
    [
      ['a', 0],
      ['b', 1],
    ],
  )
})

test('a store that fails is a 503, and a listener without quotas has its own error', async (t) => {
  let isFailing = false
  const { ask } = await start(t, { isFailing: () => isFailing })
  isFailing = true
  for (const [method, path, body] of [
    ['GET', '/-/limits'],
    ['GET', '/-/limits?entity=a'],
    ['GET', '/-/limits/audit'],
    ['PUT', '/-/limits?entity=a', { limits: ['requests:5'] }],
    ['POST', '/-/limits/apply', { limits: ['requests:5'] }],
  ] as const) {
    assert.equal((await ask(method, path, body)).status, 503, `${method} ${path}`)
  }
  const { admin } = await startProxyRig(t, { limits: () => undefined })
  const answer = await askPlainly(admin, '/-/limits')
  assert.deepEqual([answer.status, /there are no quotas/.test(answer.body.toString())], [400, true])
})
