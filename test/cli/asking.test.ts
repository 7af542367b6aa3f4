/** explain, top and tail against a real proxy in front of a scripted database. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { ask } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { runToEnd, seenBy, startCommand, startProxy } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

test('at its start it prints its findings, the change in Grafana and the admin address', async (t) => {
  const { upstream, child, url, admin } = await startProxy(t)
  assert.deepEqual(child.out().split('\n').slice(1), [
    `In Grafana, set the URL of the Prometheus data source to ${url}`,
    `Look inside: ${admin}/-/ or windowpane top --admin ${admin}`,
    '',
  ])
  assert.match(
    child.out(),
    new RegExp(
      `^windowpane \\S+ is listening: ${url} → ${upstream.url}/ \\(Prometheus 3\\.5\\.0; caching is on\\)\\n`,
    ),
  )
})

test('the output of the proxy need not be read', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const free = await startScriptedUpstream(t)
  await free.close()
  const child = startCommand(t, [upstream.url, '--listen', `127.0.0.1:${free.port}`, '--admin.enabled=false'])
  child.process.stdout!.destroy()
  while ((await ask(free.url, path).catch(() => undefined)) === undefined);
  assert.equal((await ask(free.url, path)).status, 200)
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
})

test('explain: an argument that only looks like a URL is misuse, not a crash', async (t) => {
  for (const text of ['http://[?query=up', 'http://h:99999/?query=up']) {
    const { code, err } = await runToEnd(t, ['explain', text])
    assert.deepEqual([code, err.split('\n')[0]], [2, `windowpane explain: ${text} is not a URL`])
  }
})

test('explain: a query, a form, a URL, a request, from an argument, a file or the input', async (t) => {
  const { url, admin } = await startProxy(t)
  await ask(url, path)
  const to = ['--admin', admin]
  const search = path.split('?')[1]!
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-explain-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'panel'), search)
  const [plain, byForm, byUrl, byInput, byFile, bypass, asData] = await Promise.all([
    runToEnd(t, ['explain', 'up', ...to]),
    runToEnd(t, ['explain', search, ...to]),
    runToEnd(t, ['explain', `${url}${path}`, ...to, '--run']),
    runToEnd(t, ['explain', '-', ...to], { input: JSON.stringify({ search, path: '/api/v1/query_range' }) }),
    runToEnd(t, ['explain', 'panel', ...to], { cwd: folder }),
    runToEnd(t, ['explain', '--start', '-2h', '--step', '60', ...to, '--', 'abs(sort(up))']),
    runToEnd(t, [
      'explain',
      'up',
      '--start',
      String(start / 1000),
      '--end',
      '2026-01-01T00:10:00Z',
      '--step',
      '1m',
      '--json',
      ...to,
    ]),
  ])
  assert.match(
    plain.out,
    /^Miss: no bucket of 241 is fresh[^\n]*\n\nassumed {2}the last hour, step 15s; --start, --end and --step choose another window\nshape/,
  )
  assert.match(byForm.out, /^Hit: all 11 buckets are fresh[^\n]*\n\nshape/)
  assert.match(byUrl.out, /^Hit: [\s\S]*\nran {6}status 200, \d+ bytes[\s\S]*\nreply /)
  assert.match(byInput.out, /^Hit: all 11/)
  assert.match(byFile.out, /^Hit: all 11[^\n]*\n\nfile {5}panel\nshape/)
  assert.match(bypass.out, /^Bypass: sort functions/)
  assert.equal((JSON.parse(asData.out) as { outcome: string }).outcome, 'hit')
  for (const { code, err } of [plain, byForm, byUrl, byInput, byFile, bypass, asData])
    assert.deepEqual([code, err], [0, ''])
})

test('explain: an impossible request is reported', async (t) => {
  const { admin } = await startProxy(t)
  const to = ['--admin', admin]
  for (const [argv, said] of [
    [['explain', 'up', '--step', 'often'], /--step often: expected a duration/],
    [['explain', 'up', '--start', 'yesterday'], /--start yesterday: expected RFC 3339/],
    [['explain', 'query=up&start=1', '--start', '-1h'], /--start goes with PromQL/],
    [['explain', '  '], /the query is empty/],
    [['explain', 'panel.promql'], /explain: there is no file panel\.promql\n/],
    [['explain', './queries/up'], /explain: there is no file \.\/queries\/up\n/],
    [['explain', '--data', '@body.json'], /explain: --data: there is no file body\.json\n/],
    [['nowhere.yaml'], /there is no file nowhere\.yaml, and a database is named by its URL/],
    [['explain', 'a', 'b'], /put quotes around it/],
    [['explain', 'up', '--backend', 'other'], /there is no backend "other"; there are: main/],
  ] as const) {
    const { code, err } = await runToEnd(t, [...argv, ...to])
    assert.equal(code, 2)
    assert.match(err, said)
  }
})

test('top: a table without a terminal, in every order; --json has everything', async (t) => {
  const { url, admin } = await startProxy(t)
  for (let i = 0; i < 3; i++) await ask(url, path)
  await ask(url, rangePath({ query: 'abs(sort(up))', start, end: start + 600_000 }))
  await ask(url, rangePath({ query: 'a\u001b[2J', start, end: start + 600_000 }))
  const run = (...argv: string[]) => runToEnd(t, ['top', '--admin', admin, ...argv])
  const [plain, asked, asData] = await Promise.all([
    run(),
    run('--by', 'asked'),
    run('--by', 'seconds', '--json'),
  ])
  assert.match(plain.out, /^windowpane \S+, up [\d.]+ s · 5 requests of 3 shapes · any hit 40 % · saved /)
  assert.match(plain.out, /\nrequests +hit +partial +miss +other +saved +bytes +not cached +shape\n/)
  assert.match(plain.out, /\n +3 +67% +33% .* @60s up\n/)
  assert.match(plain.out, /\n +1 +100% .* sorting +\/api\/v1\/query_range abs\(sort\(up\)\)\n/)
  assert.match(asked.out, /Load that still reaches the database/)
  assert.match(asked.out, /\n +1 +\S+ s +33% +\S.*@60s up\n/)
  assert.ok(![plain, asked].some(({ out }) => out.includes('\u001b')))
  const { shapes } = JSON.parse(asData.out) as { shapes: Record<string, unknown>[] }
  assert.equal(shapes.length, 3)
  assert.deepEqual([shapes[0]!['asked'], shapes[0]!['phaseMs']], [1, 0])
})

test('tail: one line per decision with its window, until it is stopped', async (t) => {
  const { url, admin } = await startProxy(t)
  const child = startCommand(t, ['tail', '--admin', admin])
  await seenBy(admin, 1)
  await ask(url, path)
  await ask(url, path)
  await child.says(/^.*\n.*\n$/)
  const [miss, hit] = child.out().split('\n')
  assert.match(miss!, /^\d\d:\d\d:\d\d\.\d{3} main miss\/absent +\+{20} +0\/11 +[\d.]+ ms up$/)
  assert.match(hit!, /^\d\d:\d\d:\d\d\.\d{3} main hit +#{20} +11\/11 +[\d.]+ ms up$/)
  child.process.kill('SIGINT')
  assert.deepEqual([await child.exit, child.err()], [0, ''])
})

test('tail: filters, JSON lines, and an end when the output is closed', async (t) => {
  const { url, admin } = await startProxy(t)
  const child = startCommand(t, ['tail', '--outcome', 'hit', '--json', '--admin', admin])
  await seenBy(admin, 1)
  for (let i = 0; i < 3; i++) await ask(url, path)
  await child.says(/^.*\n.*\n$/)
  const lines = child
    .out()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { outcome: string })
  assert.deepEqual(
    lines.map(({ outcome }) => outcome),
    ['hit', 'hit'],
  )
  child.process.stdout!.destroy()
  await ask(url, path)
  assert.equal(await child.exit, 0)
  const wrong = await runToEnd(t, ['tail', '--outcome', 'lucky', '--admin', admin])
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /outcome "lucky" is none of hit/)
})

test('tail: waits for a proxy that restarts', async (t) => {
  const first = await startProxy(t)
  const listen = first.admin.replace('http://', '')
  const child = startCommand(t, ['tail', '--admin', first.admin])
  await seenBy(first.admin, 1)
  first.child.process.kill('SIGTERM')
  await first.child.exit
  await child.says(/trying again/, 'err')
  const second = await startProxy(t, `--admin.listen=${listen}`)
  await seenBy(second.admin, 1)
  await ask(second.url, path)
  await child.says(/ up\n/)
  assert.match(child.err(), /connected again/)
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
})
