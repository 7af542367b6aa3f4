/** Every command in the documentation is run, or is part of the run that runs this test; unknown ones fail. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { loadConfig } from '../../src/config/load.ts'
import { type Fixture, requireServer, startFixture } from '../data/fixture.ts'
import { shownCommands } from './commands.ts'

const run = promisify(execFile)

/** Commands that CI runs around this test, or that run for minutes: checked to exist, and run by what is named. */
const runElsewhere: ReadonlyMap<string, string> = new Map([
  ['npm ci', '.ci/run'],
  ['npm ci && npm test', '.ci/run'],
  ['npm run check', 'npm test'],
  ['npm run format', 'the same tool as npm run check, writing what it finds'],
  ["node test/run.ts 'test/fidelity/*.test.ts'", 'npm test runs test/run.ts over all files'],
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
    const ready = /is ready: (\S+) → /.exec(output)
    if (ready !== null) return ready[1]!
  }
  throw new Error(`${command} ended without saying that it is ready`)
}

test('every command that the documentation shows works', async (t) => {
  const fixture = requireServer(t, await startFixture())
  if (fixture === null) return
  t.after(() => fixture.stop())
  let proxy: string | undefined
  for (const { page, command } of await shownCommands()) {
    await t.test(`${page}: ${command}`, async (t) => {
      if (runElsewhere.has(command)) return
      if (command === 'npm ci && npm start')
        await run('npm', [...'start -s -- --seconds 3 --listen 127.0.0.1:0'.split(' ')])
      else if (command.startsWith('npm run -s windowpane ')) proxy = await startShown(t, command, fixture)
      else if (command.includes('/-/explain')) await explainShown(t, command, fixture)
      else if (command.startsWith('curl '))
        await askTwice(await startShown(t, startCommand, fixture), command)
      else assert.fail(`no test runs: ${command}`)
    })
  }
  assert.ok(proxy, 'no page shows how to start')
})

const startCommand = 'npm run -s windowpane -- http://127.0.0.1:9090'

/** Started with an admin listener on a free port, whose address is in the log. */
async function explainShown(t: TestContext, command: string, fixture: Fixture): Promise<void> {
  const flags = ['--listen', '127.0.0.1:0', '--admin.listen', '127.0.0.1:0']
  const child = spawn(process.execPath, ['src/cli/main.ts', fixture.url, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill())
  for await (const line of createInterface({ input: child.stderr })) {
    const admin = /"url":"(http:[^"]*)\/-\/"/.exec(line)?.[1]
    if (admin === undefined) continue
    const { stdout } = await run('sh', ['-c', command.replace('http://127.0.0.1:9192', admin)])
    assert.match(stdout, /241/)
    return
  }
  assert.fail('no admin listener')
}

/** The page says: the first answer is a miss, the second a hit. */
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
  const pages = ['README.md', 'CONTRIBUTING.md', 'docs/guide/start.md', 'docs/guide/fidelity.md']
  for (const page of pages) {
    for (const [, name] of (await readFile(page, 'utf8')).matchAll(/npm run (?:-s )?([\w:]+)/g)) {
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
  const bytes = await readFile('docs/guide/configuration.md')
  const shown = [...bytes.toString().matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((block) => block[1]!)
  assert.ok(shown.length > 0)
  for (const text of shown) {
    const loaded = loadConfig({ file: { name: 'shown.yaml', bytes: Buffer.from(text) } })
    assert.deepEqual('problems' in loaded ? loaded.problems : [], [])
  }
})
