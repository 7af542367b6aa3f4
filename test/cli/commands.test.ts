/** The commands of the first hour: version, status, reload, completion, and the configuration of the current folder. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { allWords } from '../../src/cli/commands.ts'
import { completionScripts } from '../../src/cli/completion.ts'
import { version } from '../../src/version.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { adminAddress, readyAddress, runToEnd, startCommand, startProxy } from './child.ts'
import { refusal, startFakeAdmin } from './fake-admin.ts'

const run = promisify(execFile)

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-commands-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

test('the version is printed, in every way that people try', async (t) => {
  for (const argv of [['version'], ['--version'], ['-v']])
    assert.deepEqual(await runToEnd(t, argv), { code: 0, out: `windowpane ${version}\n`, err: '' })
  const { out } = await runToEnd(t, ['version', '--json'])
  assert.equal((JSON.parse(out) as { version: string }).version, version)
})

test('windowpane.yaml of the current folder is used; commands find the admin listener by it', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const cwd = await folder(t)
  const file = join(cwd, 'windowpane.yaml')
  const yaml = (listen: string, mode = 'on') =>
    `listen: 127.0.0.1:0\nadmin: { listen: '${listen}', allowWrites: true }\nbackends: { main: { url: '${upstream.url}', mode: ${mode} } }\n`
  await writeFile(file, yaml('127.0.0.1:0'))
  const child = startCommand(t, [], { cwd })
  await readyAddress(child)
  const admin = await adminAddress(child)
  const status = await runToEnd(t, ['status', '--admin', admin], { cwd })
  assert.equal(status.code, 0, status.err)
  assert.match(status.out, new RegExp(`^Windowpane ${version}, pid ${child.process.pid}, running for `))
  assert.match(status.out, /^ {2}configuration windowpane\.yaml, in force since \S+$/m)
  assert.match(status.out, /^ {2}main: .*, mode on, at http:\S+; 0 requests and 0 flights in progress$/m)
  assert.match(status.out, /^memory {2}\d.* of 512 MiB in use$/m)
  const json = await runToEnd(t, ['status', '--json', '--admin', admin], { cwd })
  assert.equal((JSON.parse(json.out) as { version: string }).version, version)
  await writeFile(file, yaml('127.0.0.1:0', 'shadow'))
  const reload = await runToEnd(t, ['reload', '--admin', admin], { cwd })
  assert.deepEqual([reload.code, reload.out], [0, 'the configuration was reloaded\n'])
  assert.match(reload.err, /^windowpane: talking to Windowpane /)
  await writeFile(file, yaml('127.0.0.1:0', 'sometimes'))
  const rejected = await runToEnd(t, ['reload', '--admin', admin], { cwd })
  assert.deepEqual([rejected.code, rejected.out], [1, ''])
  assert.match(rejected.err, /rejected; the previous configuration stays in force\nwindowpane\.yaml:3:/)
  const after = await runToEnd(t, ['status', '--admin', admin], { cwd })
  assert.match(after.out, /^! last reload, at \S+, was rejected: windowpane\.yaml:3:/m)
  assert.match(after.out, /, mode shadow, /)
  await writeFile(file, yaml(admin.replace('http://', '')))
  assert.equal((await runToEnd(t, ['status'], { cwd })).code, 0)
})

test('a read-only proxy says what allows a reload', async (t) => {
  const { admin } = await startProxy(t)
  const { code, err } = await runToEnd(t, ['reload', '--admin', admin])
  assert.equal(code, 1)
  assert.match(err, /read-only[\s\S]*admin\.allowWrites: true[^\n]*SIGHUP/)
})

test('status and reload of something else fail with a sentence', async (t) => {
  const other = await startFakeAdmin(t, { '/-/status': {}, '/-/reload': refusal(500, 'broken') })
  for (const command of ['status', 'reload']) {
    const { code, err } = await runToEnd(t, [command, '--admin', other.url])
    assert.equal(code, 3)
    assert.match(err, /the server there is no Windowpane/)
  }
})

test('localhost:9090 is taken as http', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const usual = ['--listen=127.0.0.1:0', '--admin.enabled=false', '--telemetry.log-level=silent']
  const child = startCommand(t, [upstream.url.replace('http://', ''), ...usual])
  await child.says(new RegExp(`→ ${upstream.url}/ `))
})

/** The completions of a shell for a line, the last word being completed. */
async function offered(script: string, line: readonly string[]): Promise<string[]> {
  const words = line.map((word) => `'${word}'`).join(' ')
  const program = `${script}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _windowpane; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await run('bash', ['-c', program])
  return stdout.split('\n').filter((word) => word !== '')
}

test('bash completes commands, flags and actions', async (t) => {
  const { out: script } = await runToEnd(t, ['completion', 'bash'])
  assert.deepEqual(await offered(script, ['windowpane', 'sta']), ['status'])
  assert.deepEqual(await offered(script, ['windowpane', 'limits', 'a']), ['apply', 'audit'])
  assert.deepEqual(await offered(script, ['windowpane', 'completion', '']), ['bash', 'zsh', 'fish'])
  assert.deepEqual(await offered(script, ['windowpane', 'top', '--b']), ['--by', '--backend'])
  assert.deepEqual(await offered(script, ['windowpane', 'check', '--config', '']), [])
  assert.deepEqual(await offered(script, ['windowpane', 'help', 'rel']), ['reload'])
  await Promise.all(
    allWords.map(async ({ name, flags }) => {
      const all = await offered(script, ['windowpane', name, '--'])
      assert.deepEqual(all, [...flags.map((flag) => `--${flag.name}`), '--help'], name)
    }),
  )
  const { code, err } = await runToEnd(t, ['completion', 'csh'])
  assert.equal(code, 2)
  assert.match(err, /expected one of bash, zsh, fish/)
})

for (const shell of ['zsh', 'fish'] as const) {
  test(`${shell} reads its script, which has every command and flag`, async (t) => {
    const script = completionScripts[shell](allWords)
    for (const { name, flags } of allWords) {
      assert.ok(script.includes(name))
      for (const flag of flags)
        assert.ok(script.includes(shell === 'fish' ? `-l ${flag.name} ` : `--${flag.name}[`))
    }
    const file = join(await folder(t), `completion.${shell}`)
    await writeFile(file, script)
    const reading = run(shell, ['-n', file])
    await reading.catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      t.diagnostic(`${shell} is not installed: the script was not parsed`)
    })
  })
}
