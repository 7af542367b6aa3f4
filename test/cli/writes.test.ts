/** purge, shadow and mode against a listener that follows the contract of the admin API. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { runToEnd } from './child.ts'
import { startFakeAdmin, talkingTo } from './fake-admin.ts'

const answerOf = (dryRun: boolean) => ({
  dryRun,
  at: '2026-01-01T00:00:00.000Z',
  shapes: 12,
  buckets: 3456,
  selection: { source: 'http_requests_total', from: '2026-01-01T00:00:00.000Z' },
  examples: [
    { key: 'abcdef0123456789', text: 'rate(x[5m])\u001b[31m', backend: 'main', buckets: 3000 },
    { key: '0123456789abcdef', text: '["/api/v1/query_range","up",15000]', backend: 'main', buckets: 456 },
  ],
})

const startPurge = (t: Parameters<typeof startFakeAdmin>[0]) =>
  startFakeAdmin(t, {
    '/-/purge': (request: { url: string }, response: { end(text: string): void }) =>
      response.end(JSON.stringify(answerOf(request.url.includes('dryRun=1')))),
  })

test('a dry run counts, and is all that happens', async (t) => {
  const admin = await startPurge(t)
  const argv = [
    'purge',
    '--metric',
    'http_requests_total',
    '--from',
    '-2h',
    '--dry-run',
    '--admin',
    admin.url,
  ]
  const { code, out, err } = await runToEnd(t, argv)
  assert.deepEqual([code, err], [0, talkingTo(admin)])
  assert.equal(
    out,
    `Selected: 3,456 buckets of 12 shapes (source http_requests_total, from 2026-01-01T00:00:00.000Z).
buckets  backend  shape
  3,000  main     rate(x[5m]) [31m
    456  main     up
and 10 more shapes
`,
  )
  assert.deepEqual(
    admin.asked.map(({ target, body }) => [target, body]),
    [['/-/purge?dryRun=1', '{"source":"http_requests_total","from":"-2h"}']],
  )
})

test('without a terminal nothing is purged unless --yes is given', async (t) => {
  const admin = await startPurge(t)
  const unconfirmed = await runToEnd(t, ['purge', '--all', '--admin', admin.url])
  assert.equal(unconfirmed.code, 4)
  assert.match(unconfirmed.out, /^Selected: 3,456 buckets/)
  assert.match(unconfirmed.err, /nothing was purged; add --yes/)
  const asData = await runToEnd(t, ['purge', '--all', '--json', '--admin', admin.url])
  assert.deepEqual([asData.code, JSON.parse(asData.out)], [4, answerOf(true)])
  assert.ok(admin.asked.every(({ target }) => target === '/-/purge?dryRun=1'))
  const done = await runToEnd(t, ['purge', '--all', '--yes', '--admin', admin.url])
  assert.deepEqual([done.code, done.err], [0, talkingTo(admin)])
  assert.match(done.out, /^Purged 3,456 buckets of 12 shapes/)
  assert.deepEqual([admin.asked.at(-1)!.target, admin.asked.at(-1)!.body], ['/-/purge', '{"all":true}'])
})

test('nothing is purged where the server is no proxy', async (t) => {
  const admin = await startPurge(t)
  for (const [status, code] of [
    [{ ok: true }, 3],
    [undefined, 1],
  ] as const) {
    admin.answers.set('/-/status', status)
    const { code: ended, err } = await runToEnd(t, ['purge', '--all', '--yes', '--admin', admin.url])
    assert.equal(ended, code)
    assert.match(err, /the server there is no Windowpane|another version of Windowpane, or another server/)
  }
  assert.deepEqual(admin.asked, [])
})

test('a purge of nothing in particular is a mistake', async (t) => {
  for (const [argv, said] of [
    [['purge'], /select the data to purge/],
    [['purge', '--all', '--backend', 'main'], /--all means everything/],
    [['purge', 'main'], /"main" is not understood/],
    [['purge', '--source', 'a', '--metric', 'b'], /mean the same/],
  ] as const) {
    const { code, err } = await runToEnd(t, [...argv, '--yes'])
    assert.equal(code, 2)
    assert.match(err, said)
  }
})

const mismatch = {
  id: 17,
  at: '2026-01-01T00:00:00.000Z',
  backend: 'main',
  text: 'sum(up)',
  window: { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T01:00:00.000Z', step: 15000 },
  cause: 'late_data',
  sentence: 'Two buckets differ: data came after they were fetched.',
  buckets: [
    {
      at: '2026-01-01T00:10:00.000Z',
      fetchedAt: '2026-01-01T00:10:05.000Z',
      ageMs: 5000,
      columns: ['{"job":"a"}'],
      cached: '"1"',
      direct: '"2"',
    },
  ],
  cachedBytes: 100,
  directBytes: 120,
}

const backendOf = (verdict: string) => ({
  backend: 'main',
  mode: 'shadow',
  since: '2026-01-01T00:00:00.000Z',
  comparisons: 1000,
  equal: 998,
  explained: 1,
  unexplained: 1,
  skipped: { busy: 3 },
  verdict,
  sentence: `It is ${verdict}.`,
  wouldBe: { hit: 800, partial: 150, miss: 50 },
  mismatches: [mismatch],
})

test('the verdict of shadow mode is the exit code', async (t) => {
  for (const [verdicts, code] of [
    [['safe'], 0],
    [['wait'], 5],
    [['unsafe'], 1],
    [['safe', 'wait'], 5],
    [['wait', 'unsafe'], 1],
    [[], 5],
  ] as const) {
    const admin = await startFakeAdmin(t, { '/-/shadow': { backends: verdicts.map(backendOf) } })
    assert.equal((await runToEnd(t, ['shadow', 'report', '--admin', admin.url])).code, code, verdicts.join())
  }
})

test('the report has counts and differing buckets, and --json all of it', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/shadow': { backends: [backendOf('unsafe')] } })
  const { out } = await runToEnd(t, ['shadow', 'report', '--admin', admin.url])
  for (const part of [
    'main: UNSAFE  mode shadow since 2026-01-01T00:00:00.000Z\nIt is unsafe.',
    '1,000 comparisons: 998 equal, 1 explained, 1 unexplained',
    'not compared: 3 busy',
    'would have been: 800 hit, 150 partial, 50 miss',
    'mismatch 17 at 2026-01-01T00:00:00.000Z, main: late_data',
    '2026-01-01T00:10:00.000Z  5.0 s before  "1"     "2"     {"job":"a"}',
  ]) {
    assert.ok(out.includes(part), `${part}\nin\n${out}`)
  }
  const asData = await runToEnd(t, ['shadow', 'report', '--json', '--backend', 'main', '--admin', admin.url])
  assert.deepEqual(JSON.parse(asData.out), { backends: [backendOf('unsafe')] })
  const other = await runToEnd(t, ['shadow', 'report', '--backend', 'eu', '--admin', admin.url])
  assert.equal(other.code, 2)
  assert.match(other.err, /there is no backend "eu"; there are: main/)
})

test('one mismatch is shown with both bodies, or one of them as it was', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/shadow/17': { ...mismatch, cached: '{"a":1}', direct: null } })
  const { code, out } = await runToEnd(t, ['shadow', 'show', '17', '--admin', admin.url])
  assert.equal(code, 0)
  assert.match(out, /\ncached \(100 bytes\):\n\{"a":1\}\n\ndirect \(120 bytes\):\ntoo large to be kept\n$/)
  const only = await runToEnd(t, ['shadow', 'show', '17', '--only', 'cached', '--admin', admin.url])
  assert.equal(only.out, '{"a":1}')
  const lost = await runToEnd(t, ['shadow', 'show', '17', '--only', 'direct', '--admin', admin.url])
  assert.deepEqual([lost.code, lost.out], [1, ''])
  assert.equal((await runToEnd(t, ['shadow', 'show', '18', '--admin', admin.url])).code, 1)
})

test('a mode is switched and reported', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/mode': { backend: 'main', mode: 'shadow', was: 'on' } })
  const { out, err } = await runToEnd(t, ['mode', 'main', 'shadow', '--admin', admin.url])
  assert.equal(err, talkingTo(admin))
  assert.equal(out, 'main is shadow (it was on) until the configuration is reloaded.\n')
  const asData = await runToEnd(t, ['mode', 'main', 'shadow', '--json', '--admin', admin.url])
  assert.deepEqual(JSON.parse(asData.out), { backend: 'main', mode: 'shadow', was: 'on' })
})

test('a mode, a purge and a report of several nodes name them', async (t) => {
  const reach = { nodes: 3, withinSeconds: 5 }
  const nodes = [{ node: 'b', mode: 'shadow', comparisons: 900, unexplained: 0 }]
  const admin = await startFakeAdmin(t, {
    '/-/mode': { backend: 'main', mode: 'on', was: 'on', reach },
    '/-/purge': { ...answerOf(false), reach },
    '/-/shadow': { backends: [{ ...backendOf('safe'), nodes }], note: 'the store is gone' },
  })
  const run = (...argv: string[]) => runToEnd(t, [...argv, '--admin', admin.url])
  const said = 'main is on (as before) at 3 nodes, within 5 s, until the configuration is reloaded.\n'
  assert.equal((await run('mode', 'main', 'on')).out, said)
  assert.match((await run('purge', '--all', '--yes')).out, /Z\) at 3 nodes, within 5 s\.\n$/)
  const { out, err } = await run('shadow', 'report', '--node', 'b c')
  assert.match(out, /\n {2}node b: mode shadow, 900 comparisons, 0 unexplained\n/)
  assert.equal(err, 'windowpane: the store is gone\n')
  assert.equal(admin.asked.at(-1)!.target, '/-/shadow?node=b%20c')
})
