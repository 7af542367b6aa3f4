/** The command with a configuration file: several databases, rules, reloads and a durable store, as a process. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { type Answer, ask, outcomeOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { adminAddress, type Child, readyAddress, runToEnd, startCommand } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

interface Running {
  readonly process: ChildProcess
  readonly url: string
  readonly err: Child['err']
  readonly says: Child['says']
  stop(): Promise<void>
}

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-config-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

async function run(t: TestContext, ...argv: string[]): Promise<Running> {
  const child = startCommand(t, argv)
  const url = await readyAddress(child)
  const stop = async () => {
    child.process.kill('SIGTERM')
    assert.equal(await child.exit, 0)
  }
  return { process: child.process, url, err: child.err, says: child.says, stop }
}

const config = (main: ScriptedUpstream, more = ''): string =>
  `listen: 127.0.0.1:0\nadmin: { enabled: false }\ntelemetry: { logLevel: info }\nbackends:\n  main:\n    url: ${main.url}\n${more}`

test('two databases on one address: each has its own path and its own buckets', async (t) => {
  const [one, two] = [await startScriptedUpstream(t), await startScriptedUpstream(t)]
  two.generation = 2
  const file = join(await folder(t), 'windowpane.yaml')
  const route = '    route: { path: /one }\n'
  await writeFile(file, config(one, `${route}  other:\n    url: ${two.url}\n    route: { path: /two }\n`))
  const { url } = await run(t, '--config', file)
  for (const outcome of ['miss/absent', 'hit']) {
    const [first, second] = [await ask(url, `/one${path}`), await ask(url, `/two${path}`)]
    assert.deepEqual([outcomeOf(first), outcomeOf(second)], [outcome, outcome])
    assert.match(first.body.toString(), /,"1"\]/)
    assert.match(second.body.toString(), /,"2"\]/)
  }
  const lost = await fetchPlainly(url, path)
  assert.equal(lost.status, 404)
  assert.match(lost.body, /no backend is configured/)
})

test('a database without a route gets the unclaimed requests, wherever it stands in the file', async (t) => {
  const [one, two] = [await startScriptedUpstream(t), await startScriptedUpstream(t)]
  two.generation = 2
  const file = join(await folder(t), 'windowpane.yaml')
  await writeFile(file, config(one, `  other:\n    url: ${two.url}\n    route: { path: /two }\n`))
  const { url } = await run(t, '--config', file)
  assert.match((await ask(url, path)).body.toString(), /,"1"\]/)
  assert.match((await ask(url, `/two${path}`)).body.toString(), /,"2"\]/)
})

test('an address in use does not leave a durable store behind as if it had crashed', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const place = await folder(t)
  const file = join(place, 'windowpane.yaml')
  const store = `    store: disk\nstores: { disk: { type: lmdb, path: ${join(place, 'panes')}, reserve: 0B } }\n`
  await writeFile(file, config(upstream, store))
  for (let i = 0; i < 3; i++) {
    const { code } = await runToEnd(t, ['--config', file, '--listen', `127.0.0.1:${upstream.port}`])
    assert.equal(code, 2)
    assert.deepEqual(
      (await readdir(join(place, 'panes'))).filter((name) => /open|aside/.test(name)),
      [],
    )
  }
})

test('rules make exceptions, and a reload changes them while it runs', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const file = join(await folder(t), 'windowpane.yaml')
  const rule = 'rules: [{ match: { headers: [{ name: FromAlert, equals: "true" }] }, bypass: true }]\n'
  await writeFile(file, config(upstream, rule))
  const running = await run(t, '--config', file)
  const alert = { headers: { FromAlert: 'true' } }
  await ask(running.url, path)
  assert.equal(outcomeOf(await ask(running.url, path)), 'hit')
  assert.equal(outcomeOf(await ask(running.url, path, alert)), 'bypass/switched_off')
  const reload = async (text: string, answer: RegExp): Promise<Answer> => {
    await writeFile(file, text)
    running.process.kill('SIGHUP')
    await running.says(answer, 'err')
    return ask(running.url, path, alert)
  }
  assert.equal(outcomeOf(await reload(config(upstream), /was reloaded/)), 'hit')
  const off = await reload(config(upstream, '    mode: off\n'), /was reloaded[\s\S]*was reloaded/)
  assert.equal(outcomeOf(off), 'bypass/switched_off')
  const bad = await reload(config(upstream, '    mod: on\n'), /refused[\s\S]*unknown key/)
  assert.equal(outcomeOf(bad), 'bypass/switched_off')
  const moved = await reload(config(upstream, 'workers: 2\n'), /need a restart: workers/)
  assert.equal(outcomeOf(moved), 'bypass/switched_off')
  await running.stop()
})

test('status has the configuration in force, and why the last one is not', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const file = join(await folder(t), 'windowpane.yaml')
  const admin = (text: string): string => text.replace('{ enabled: false }', '{ listen: "127.0.0.1:0" }')
  await writeFile(file, admin(config(upstream)))
  const child = startCommand(t, ['--config', file])
  const url = await adminAddress(child)
  type Told = { inForceSince: string; lastReload?: { at: string; ok: boolean; message: string } }
  const told = async (): Promise<Told> =>
    (JSON.parse((await fetchPlainly(url, '/-/status')).body) as { configuration: Told }).configuration
  const first = await told()
  assert.deepEqual([first.lastReload, Number.isNaN(Date.parse(first.inForceSince))], [undefined, false])
  await writeFile(file, admin(config(upstream, '    mod: on\n')))
  child.process.kill('SIGHUP')
  await child.says(/refused/, 'err')
  const second = await told()
  assert.deepEqual([second.inForceSince, second.lastReload?.ok], [first.inForceSince, false])
  assert.match(second.lastReload!.message, /windowpane\.yaml:\d+:\d+: backends\.main\.mod: unknown key/)
})

test('a durable store is warm after a restart: a full hit without a query', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const place = await folder(t)
  const file = join(place, 'windowpane.yaml')
  const store = `    store: disk\nstores: { disk: { type: lmdb, path: ${join(place, 'panes')}, reserve: 0B } }\n`
  await writeFile(file, config(upstream, store))
  const first = await run(t, '--config', file)
  const answers = [await ask(first.url, path), await ask(first.url, path), await ask(first.url, path)]
  await first.stop()
  const asked = upstream.seen.length
  // The same store by its URL: flags and file name one thing.
  const url = `lmdb:${join(place, 'panes')}?reserve=0B`
  const flags = ['--stores.shared.url', url, '--backends.main.store', 'shared']
  const quiet = ['--listen', '127.0.0.1:0', '--admin.enabled=false']
  const second = await run(t, upstream.url, ...flags, ...quiet)
  const warm = await ask(second.url, path)
  assert.equal(outcomeOf(warm), 'hit', second.err())
  assert.deepEqual(warm.body, answers[0]!.body)
  assert.equal(upstream.seen.filter(({ target }) => target.includes('query_range')).length, 1)
  assert.ok(upstream.seen.length >= asked)
  await second.stop()
})

test('a damaged durable store is set aside, and that is logged', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const place = await folder(t)
  const file = join(place, 'windowpane.yaml')
  const store = `    store: disk\nstores: { disk: { type: lmdb, path: ${place}, reserve: 0B } }\n`
  await writeFile(file, config(upstream, store))
  await writeFile(join(place, 'panes.mdb'), 'this is no store'.repeat(1000))
  const running = await run(t, '--config', file)
  assert.match(
    running.err(),
    /"level":"warn","message":"stores\.disk: its file could not be trusted \(damaged\) and was set aside; /,
  )
  await running.stop()
})

test('the mistakes of an unusable configuration are reported in full, with their places', async (t) => {
  const file = join(await folder(t), 'windowpane.yaml')
  await writeFile(file, 'listen: nowhere\nbackend: {}\n')
  const { code, err } = await runToEnd(t, ['--config', file])
  assert.equal(code, 2)
  const problems = err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; message: string; frame: string })
  assert.match(problems[1]!.message, /^cannot start: \S*windowpane\.yaml:1:9: listen: /)
  assert.match(problems[2]!.message, /windowpane\.yaml:2:1: backend: .*did you mean "backends"/)
  assert.match(problems[2]!.frame, /\n> 2 \| backend: \{\}\n/)
  assert.ok(problems.every(({ level }) => level === 'error'))
})

async function fetchPlainly(url: string, target: string): Promise<{ status: number; body: string }> {
  const answer = await fetch(url + target)
  return { status: answer.status, body: await answer.text() }
}

test('the admin listener shows status, metrics and explanations of the running proxy', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const file = join(await folder(t), 'windowpane.yaml')
  await writeFile(
    file,
    `listen: 127.0.0.1:0\nadmin: { listen: "127.0.0.1:0" }\nbackends: { main: { url: "${upstream.url}" } }\n`,
  )
  const running = await run(t, '--config', file)
  const [, admin = ''] = await running.says(/"admin":"(http:[^"]*)\/-\/"/, 'err')
  await ask(running.url, path)
  await ask(running.url, path)
  const metrics = await fetchPlainly(admin, '/-/metrics')
  assert.match(metrics.body, /windowpane_requests_total\{[^}]*outcome="hit"[^}]*\} 1/)
  assert.match((await fetchPlainly(admin, '/-/status')).body, /"label": ?"Prometheus 3\.5\.0"/)
  assert.equal((await fetchPlainly(admin, '/-/ready')).status, 200)
  const explained = await fetch(`${admin}/-/explain`, {
    method: 'POST',
    body: path.split('?')[1]!,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })
  assert.match(await explained.text(), /[Hh]it/)
  assert.match((await fetchPlainly(admin, '/-/config')).body, /backends\.main\.url/)
  await running.stop()
})
