/** Every command in the documentation is run, or is part of the run that runs this test; unknown ones fail. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { type Child, readyAddress, startCommand as startProgram } from '../cli/child.ts'
import { type Fixture, requireServer, startFixture } from '../data/fixture.ts'
import { ask } from '../proxy/client.ts'
import {
  allPages,
  druidClientsPage,
  druidPage,
  shownCommands,
  victoriametricsPage,
  wordsOf,
} from './commands.ts'

const run = promisify(execFile)

/** Commands that CI runs around this test, or that run for minutes: checked to exist, and run by the named program. */
const runElsewhere: ReadonlyMap<string, string> = new Map([
  ['npm ci', '.ci/run'],
  ['npm ci && npm test', '.ci/run'],
  ['npm run check', 'npm test'],
  ['npm run format', 'the same tool as npm run check, writing what it finds'],
  ['npm run words', 'scripts/words.test.ts, by the same functions'],
  ['npm test -- test/fidelity', 'npm test, over all files'],
])

async function startShown(t: TestContext, command: string, fixture: Fixture): Promise<string> {
  const line = command
    .replace(/^npm ci && /, '')
    .replace('http://127.0.0.1:9090', fixture.url)
    .replace(/ --listen \S+$/, '')
  const child = spawn('sh', ['-c', `exec ${line} --listen 127.0.0.1:0 --admin.enabled=false`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  t.after(() => process.kill(-child.pid!, 'SIGTERM'))
  for await (const output of createInterface({ input: child.stdout })) {
    const ready = /is listening: (\S+) → /.exec(output)
    if (ready !== null) return ready[1]!
  }
  throw new Error(`${command} ended without the line that it listens`)
}

test('every command that the documentation shows works', async (whole) => {
  const fixture = requireServer(whole, await startFixture())
  if (fixture === null) return
  whole.after(() => fixture.stop())
  let proxy: string | undefined
  const operated = await startOperated(whole, fixture)
  const elsewhere = [druidPage, druidClientsPage, victoriametricsPage]
  const pages = (await allPages()).filter((page) => !elsewhere.includes(page))
  for (const { page, command } of await shownCommands(pages)) {
    await whole.test(`${page}: ${command}`, async (t) => {
      if (runElsewhere.has(command)) return
      // Benchmarks take minutes and a quiet machine: that they exist is checked below.
      if (command.startsWith('npm run bench:')) return
      if (command === 'npm ci && npm start')
        await run('npm', [...'start -s -- --seconds 3 --listen 127.0.0.1:0'.split(' ')])
      else if (command.startsWith('npm run -s windowpane ')) proxy = await startShown(t, command, fixture)
      else if (command.includes('/-/explain')) await explainShown(t, command, fixture)
      else if (command.includes('/-/changed')) await announceShown(command, operated)
      else if (command.startsWith('windowpane ')) await operate(t, command, operated)
      else if (command.startsWith('curl '))
        await askTwice(await startShown(t, startCommand, fixture), command)
      else assert.fail(`no test runs: ${command}`)
    })
  }
  assert.ok(proxy, 'no page shows how to start')
})

/** Permitted exit codes of the guide's commands besides 0: nothing has been compared yet. */
const otherEnds: ReadonlyMap<string, number> = new Map([['windowpane shadow report', 5]])

interface Operated {
  readonly proxy: string
  readonly admin: string
}

/** A command of the guide, run against a proxy that may be written to. */
async function operate(t: TestContext, command: string, { proxy, admin }: Operated): Promise<void> {
  const [, ...argv] = wordsOf(command)
  const child = startProgram(t, [...argv, '--admin', admin])
  if (argv[0] === 'tail') {
    await provoke(proxy, child)
    child.process.kill('SIGINT')
  }
  assert.equal(await child.exit, otherEnds.get(command) ?? 0, child.out() + child.err())
  assert.notEqual(child.out(), '')
}

/** Sends the request of a backfill job. */
async function announceShown(command: string, { admin }: Operated): Promise<void> {
  const { stdout } = await run('sh', ['-c', command.replace('http://127.0.0.1:9192', admin)])
  assert.deepEqual(JSON.parse(stdout), { marks: 1 })
}

/** Misses, one after the other, until one is shown. */
async function provoke(proxy: string, { out, process: child }: Child): Promise<void> {
  for (let turn = 0; child.exitCode === null && !out().includes('miss'); turn++) {
    await ask(proxy, `/api/v1/query_range?query=up%2B${turn}&start=1767225600&end=1767229200&step=15`)
  }
}

async function startOperated(t: TestContext, fixture: Fixture): Promise<Operated> {
  const child = startProgram(t, [
    fixture.url,
    ...[
      '--listen',
      '127.0.0.1:0',
      '--admin.listen',
      '127.0.0.1:0',
      '--admin.allow-writes=true',
      '--staleness=1%',
      ...['--quotas.limits.0.name=requests', '--quotas.limits.0.capacity=1000000'],
    ],
  ])
  const proxy = await readyAddress(child)
  const [, admin = ''] = await child.says(/"admin":"(http:[^"]*)\/-\/"/, 'err')
  return { proxy, admin }
}

const startCommand = 'npm run -s windowpane -- http://127.0.0.1:9090'

/** Started with an admin listener on a free port, whose address is in the log. */
async function explainShown(t: TestContext, command: string, fixture: Fixture): Promise<void> {
  const flags = ['--listen', '127.0.0.1:0', '--admin.listen', '127.0.0.1:0']
  const child = spawn(process.execPath, ['src/cli/main.ts', fixture.url, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill())
  for await (const line of createInterface({ input: child.stderr })) {
    const admin = /"admin":"(http:[^"]*)\/-\/"/.exec(line)?.[1]
    if (admin === undefined) continue
    const { stdout } = await run('sh', ['-c', command.replace('http://127.0.0.1:9192', admin)])
    assert.match(stdout, /241/)
    return
  }
  assert.fail('no admin listener')
}

/** According to the page, the first answer is a miss, the second a hit. */
async function askTwice(proxy: string, command: string): Promise<void> {
  const line = command.replace('http://127.0.0.1:9191', proxy)
  const [first, second] = [await run('sh', ['-c', line]), await run('sh', ['-c', line])]
  assert.match(first.stdout, /detail="miss\/absent /)
  assert.match(second.stdout, /detail="hit /)
}

test('CI runs the test command of the README', async () => {
  const script = await readFile('.ci/run', 'utf8')
  assert.match(script, /^npm ci\nnpm test$/m)
})

test('every npm script that the documentation names exists', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
    scripts: Record<string, string>
  }
  const pages = await allPages()
  for (const page of pages) {
    for (const [, name] of (await readFile(page, 'utf8')).matchAll(/npm run (?:-s )?([\w:-]*\w)/g)) {
      assert.ok(name! in scripts, `${page} names npm run ${name}`)
    }
  }
})

test('every file that CONTRIBUTING.md sends a newcomer to exists', async () => {
  const text = await readFile('CONTRIBUTING.md', 'utf8')
  let folder = ''
  for (const [, path] of text.matchAll(/`((?:src\/)?[\w/-]+\.ts)`/g)) {
    const full = path!.includes('/') ? path! : `${folder}/${path}`
    folder = full.slice(0, full.lastIndexOf('/'))
    await readFile(full)
  }
})

test('every configuration that the documentation shows can be used', async () => {
  let count = 0
  for (const page of await allPages()) {
    const text = await readFile(page, 'utf8')
    for (const [, shown] of text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)) {
      if (/^scrape_configs:/m.test(shown!)) continue
      // A page may show one section only.
      const whole = /^backends:/m.test(shown!)
        ? shown!
        : `${shown}backends: { main: { url: 'http://db:9090' } }\n`
      const loaded = loadConfig({ file: { name: page, bytes: Buffer.from(whole) } })
      assert.deepEqual('problems' in loaded ? loaded.problems : [], [], page)
      count++
    }
  }
  assert.ok(count >= 8)
})

test('the data source that the guide shows is the one that is provisioned', async () => {
  const [, shown] = /^```yaml grafana\n([\s\S]*?)^```$/m.exec(
    await readFile('docs/guide/grafana.md', 'utf8'),
  )!
  const provisioned = await readFile('deploy/grafana/provisioning/datasources/windowpane.yaml', 'utf8')
  const [mine, theirs] = [parse(shown!), parse(provisioned)]
  const { type, url, access } = mine.datasources[0]
  assert.deepEqual(
    theirs.datasources.map((each: Record<string, unknown>) => [each['type'], each['url'], each['access']])[0],
    [type, url, access],
  )
})

test('every link between pages leads somewhere', async () => {
  for (const page of await allPages()) {
    const text = await readFile(page, 'utf8')
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)) {
      await stat(join(dirname(page), target!)).catch(() => assert.fail(`${page} links to ${target}`))
    }
  }
})
