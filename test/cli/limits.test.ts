/** `windowpane limits` against a listener that follows the contract of the admin API. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { runToEnd } from './child.ts'
import { refusal, startFakeAdmin, talkingTo } from './fake-admin.ts'

const requests = { name: 'requests', capacity: 200, refillAmount: 100, refillPeriodSeconds: 60 }

const inForce = {
  ...{ entity: 'team-a', resource: 'main', source: 'entity_default' },
  limits: [{ ...requests, available: -3, ttl: 840 }],
}

async function fileOf(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-limits-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'limits.yaml')
  await writeFile(file, text)
  return file
}

test('get shows the limits in force and the remaining tokens, and as JSON the answer of the listener', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/limits': inForce })
  const argv = ['limits', 'get', '--entity', 'team-a', '--admin', admin.url]
  const { code, out, err } = await runToEnd(t, argv)
  assert.deepEqual([code, err], [0, ''])
  assert.equal(
    out,
    `team-a at main has its own limits.
limit     rate                capacity  available  ttl
requests  100/min, burst 200       200         -3  14 min
`,
  )
  assert.equal(admin.asked[0]!.target, '/-/limits?entity=team-a')
  const asData = await runToEnd(t, [...argv, '--resource', 'main', '--json'])
  assert.deepEqual([asData.code, JSON.parse(asData.out)], [0, inForce])
  assert.equal(admin.asked[1]!.target, '/-/limits?entity=team-a&resource=main')
})

test('set sends all limits of the place, and the author', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/limits': { entity: 'a', changed: true, version: 3 } })
  const options = { env: { USER: 'ann' } }
  const argv = [
    'limits',
    'set',
    '--entity',
    'a',
    '-l',
    'requests:100/min:200',
    '-lcost:5/day',
    '--admin',
    admin.url,
  ]
  const { code, out, err } = await runToEnd(t, argv, options)
  assert.deepEqual(
    [code, out, err],
    [0, 'Changed: entity a. It holds everywhere within a minute.\n', talkingTo(admin)],
  )
  const [asked] = admin.asked
  assert.deepEqual([asked!.method, asked!.target], ['PUT', '/-/limits?entity=a&by=ann'])
  assert.deepEqual(JSON.parse(asked!.body), {
    limits: [requests, { name: 'cost', capacity: 5, refillAmount: 5, refillPeriodSeconds: 86_400 }],
  })
  for (const [more, method, target, body] of [
    [['set', '--entity', 'a', '--parent', 'p'], 'PUT', '/-/limits?entity=a&by=ann', '{"parent":"p"}'],
    [['set', '--entity', 'a', '--no-parent'], 'DELETE', '/-/limits?entity=a&parent=1&by=ann', ''],
    [['set', '--system', '--limit', 'a:1,b:2', '--by', 'ci'], 'PUT', '/-/limits?system=1&by=ci', undefined],
    [['delete', '--resource', 'main'], 'DELETE', '/-/limits?resource=main&by=ann', ''],
  ] as const) {
    const ended = await runToEnd(t, ['limits', ...more, '--admin', admin.url], options)
    assert.equal(ended.code, 0, ended.err)
    const last = admin.asked.at(-1)!
    assert.deepEqual([last.method, last.target], [method, target])
    if (body !== undefined) assert.equal(last.body, body)
  }
})

test('impossible arguments are refused before any request', async (t) => {
  const admin = await startFakeAdmin(t, {})
  for (const [argv, sentence] of [
    [[], /expected one of get, set, delete, list, plan, apply, diff, usage, audit/],
    [['gte'], /expected one of/],
    [['toString'], /expected one of/],
    [['get'], /needs --entity/],
    [['get', '--entity', 'a', 'b'], /"b" is not understood/],
    [['get', '--entity', 'a', '--adopt'], /--adopt does not belong to limits get/],
    [['set', '-l', 'a:1'], /name --entity, --resource, both, or --system alone/],
    [['set', '--system', '--entity', 'a', '-l', 'a:1'], /--system alone/],
    [['set', '--entity', 'a'], /give limits with -l/],
    [['set', '--entity', 'a', '-l', 'a:1', '--parent', 'p'], /give limits with -l, or --parent/],
    [['set', '--entity', 'a', '-l'], /-l needs a limit/],
    [['set', '--entity', 'a', '-l', 'a:1/week'], /"a:1\/week" is no limit; write it as name:rate/],
    [['delete', '--entity', 'a', 'b'], /"b" is not understood/],
    [['plan'], /limits plan needs one file/],
    [['apply', 'a', 'b'], /limits apply needs one file/],
    [['plan', '/nowhere/limits.yaml'], /\/nowhere\/limits\.yaml/],
  ] as const) {
    const { code, out, err } = await runToEnd(t, ['limits', ...argv, '--admin', admin.url])
    assert.deepEqual([code, out], [2, ''], argv.join(' '))
    assert.match(err, sentence)
  }
  assert.deepEqual(admin.asked, [])
})

const planned = {
  ...{ dryRun: true, unchanged: 4 },
  changes: [
    { action: 'delete', level: 'parent', entity: 'b', before: 'p' },
    { action: 'create', level: 'entity', entity: 'a', resource: 'main', after: [requests] },
    { action: 'update', level: 'system', before: [{ ...requests, capacity: 100 }], after: [requests] },
    { action: 'keep', level: 'entity_default', entity: 'c\u001b[31m', before: [requests], after: [requests] },
  ],
}

test('plan and diff list the changes, and end with 6 where there are some', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/limits/apply': planned })
  const file = await fileOf(t, 'limits:\n  - requests:100/min:200\nentities:\n  a: { parent: p }\n')
  const plan = await runToEnd(t, ['limits', 'plan', file, '--admin', admin.url])
  assert.deepEqual([plan.code, plan.err], [6, ''])
  assert.equal(
    plan.out,
    `- delete entity b: parent p
+ create entity a at main: requests 100/min, burst 200
~ update system: requests 100/min, burst 200
! keep entity c [31m: requests 100/min, burst 200
3 changes, 4 unchanged, 1 kept because it was set in another way (--adopt takes it over).
`,
  )
  assert.match(admin.asked[0]!.target, /^\/-\/limits\/apply\?dryRun=1&by=/)
  assert.deepEqual(JSON.parse(admin.asked[0]!.body), {
    ...{ limits: ['requests:100/min:200'], entities: { a: { parent: 'p' } } },
  })
  const diff = await runToEnd(t, ['limits', 'diff', file, '--adopt', '--admin', admin.url])
  assert.equal(diff.code, 6)
  assert.match(diff.out, /^system\n- requests 100\/min\n\+ requests 100\/min, burst 200$/m)
  assert.match(admin.asked[1]!.target, /dryRun=1&adopt=1/)
  const asData = await runToEnd(t, ['limits', 'plan', file, '--json', '--admin', admin.url])
  assert.deepEqual([asData.code, JSON.parse(asData.out)], [6, planned])
  admin.answers.set('/-/limits/apply', { ...planned, changes: planned.changes.slice(3) })
  assert.equal((await runToEnd(t, ['limits', 'plan', file, '--admin', admin.url])).code, 0)
})

test('apply names the proxy, and reports a partial success', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/limits/apply': { ...planned, dryRun: false, changed: 3 } })
  const file = await fileOf(t, '{"limits": ["a:1"]}')
  const done = await runToEnd(t, ['limits', 'apply', file, '--by', 'ci', '--admin', admin.url])
  assert.deepEqual(
    [done.code, done.err, admin.asked[0]!.target],
    [0, talkingTo(admin), '/-/limits/apply?by=ci'],
  )
  admin.answers.set(
    '/-/limits/apply',
    (_: unknown, response: { writeHead(code: number): { end(text: string): void } }) =>
      response.writeHead(503).end(JSON.stringify({ ...planned, changed: 1, failure: 'a: the store failed' })),
  )
  const cut = await runToEnd(t, ['limits', 'apply', file, '--admin', admin.url])
  assert.equal(cut.code, 1)
  assert.match(cut.err, /only 1 of the changes were made: a: the store failed/)
  admin.answers.set('/-/limits/apply', refusal(400, 'limits[0]: "x" is no limit'))
  const refused = await runToEnd(t, ['limits', 'apply', file, '--admin', admin.url])
  assert.deepEqual([refused.code, /"x" is no limit/.test(refused.err)], [2, true])
})

test('the mistakes of an unusable file are reported with their place', async (t) => {
  const admin = await startFakeAdmin(t, {})
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 9; i++)
    bomb.push(`${'abcdefghij'[i]}: &${'abcdefghij'[i]} [${Array(10).fill(`*${'abcdefghij'[i - 1]}`)}]`)
  for (const [text, sentence] of [
    ['limits: [', /limits\.yaml:1:\d+: /],
    ['limits:\n  - a\nlimits:\n  - b\n', /limits\.yaml:3:1: the key "limits" is written twice/],
    ['a: *none', /there is no anchor &none before this alias/],
    ['? [a]\n: b', /a key must be a word/],
    ['limits: !!binary aGk=', /limits\.yaml:1:18: tags such as !!binary are not used here/],
    [bomb.join('\n'), /limits\.yaml:\d+:\d+: holds more than 1000000 values, aliases/],
    ['['.repeat(50_000), /limits\.yaml:1:\d+: is nested more deeply than 32 levels/],
    [`# ${'x'.repeat(5 * 1024 * 1024)}`, /at most 4 MiB/],
  ] as const) {
    const file = await fileOf(t, text)
    const { code, err } = await runToEnd(t, ['limits', 'plan', file, '--admin', admin.url])
    assert.equal(code, 2, err.slice(0, 500))
    assert.match(err, sentence)
    assert.ok(err.length < 1000)
  }
  assert.deepEqual(admin.asked, [])
})

test('a declaration of thousands of entities, with anchors, comes from the input as well', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/limits/apply': { ...planned, changes: [] } })
  const entities = Array.from({ length: 3000 }, (_, i) => `  team-${i}: { limits: *gold }`)
  const input = `resources:\n  main: &gold [requests:5, cost:6/hour]\nentities:\n${entities.join('\n')}\n`
  const { code, err } = await runToEnd(t, ['limits', 'plan', '-', '--admin', admin.url], { input })
  assert.deepEqual([code, err], [0, ''])
  const sent = JSON.parse(admin.asked[0]!.body) as { entities: Record<string, { limits: string[] }> }
  assert.equal(Object.keys(sent.entities).length, 3000)
  assert.deepEqual(sent.entities['team-2999'], { limits: ['requests:5', 'cost:6/hour'] })
  for (const nothing of ['', '~', '# none\n']) {
    await runToEnd(t, ['limits', 'plan', '-', '--admin', admin.url], { input: nothing })
    assert.equal(admin.asked.at(-1)!.body, '{}')
  }
})

test('list, usage and audit are tables and lines without control characters', async (t) => {
  const admin = await startFakeAdmin(t, {
    '/-/limits': [
      { level: 'system', from: 'configuration', limits: [requests] },
      { level: 'parent', entity: 'a', parent: 'p', from: 'store', managed: true, version: 1 },
    ],
    '/-/limits/usage': [
      {
        start: '2026-01-01T10:00:00.000Z',
        entity: 'a',
        resource: 'main',
        permits: 1234,
        refusals: 5,
        tokens: { cost: 7 },
      },
    ],
    '/-/limits/audit': [
      {
        at: '2026-01-01T10:00:00.000Z',
        by: 'ann\u001b',
        from: '127.0.0.1',
        action: 'limits_set',
        entity: 'a',
        after: [requests],
      },
    ],
  })
  const run = async (...argv: string[]) => (await runToEnd(t, ['limits', ...argv, '--admin', admin.url])).out
  assert.equal(
    await run('list'),
    `level   entity  resource  set            limits
system                    configuration  requests 100/min, burst 200
parent  a                 declaration    parent p
`,
  )
  assert.equal(
    await run('usage', '--window', 'day', '--from', '-1w', '--entity', 'a'),
    `from (UTC)        entity  resource  permits  refusals  tokens
2026-01-01 10:00  a       main        1,234         5  cost 7
`,
  )
  assert.equal(
    await run('audit', '--last', '5'),
    '2026-01-01T10:00:00.000Z ann (127.0.0.1) entity a: none → requests 100/min, burst 200\n',
  )
  assert.deepEqual(
    admin.asked.map(({ target }) => target),
    ['/-/limits', '/-/limits/usage?entity=a&window=day&from=-1w', '/-/limits/audit?limit=5'],
  )
})
