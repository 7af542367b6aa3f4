/** The first hour of docs/guide/start.md, run command by command against a real Prometheus. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { requireServer, startFixture } from '../data/fixture.ts'
import { freePorts } from '../servers/ports.ts'
import { bounded } from '../wait.ts'
import { masked, stepsIn } from './transcript.ts'

const main = join(import.meta.dirname, '../../src/cli/main.ts')

test('the first hour goes as the page says', async (t) => {
  const fixture = requireServer(t, await startFixture())
  if (fixture === null) return
  t.after(() => fixture.stop())
  const place = await mkdtemp(join(tmpdir(), 'windowpane-transcript-'))
  t.after(() => rm(place, { recursive: true, force: true }))
  const program = join(place, 'windowpane')
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  await chmod(program, 0o755)
  // The usual ports may be in use on this machine.
  const [proxy, admin] = await freePorts(2)
  const ports: readonly (readonly [string, string])[] = [
    ['127.0.0.1:9090', new URL(fixture.url).host],
    ['127.0.0.1:9191', `127.0.0.1:${proxy}`],
    ['127.0.0.1:9192', `127.0.0.1:${admin}`],
  ]
  const here = (text: string) => ports.reduce((result, [shown, used]) => result.replaceAll(shown, used), text)
  const shown = (text: string) =>
    ports
      .reduce((result, [usual, used]) => result.replaceAll(used, usual), text)
      // On its usual address the admin listener need not be named.
      .replaceAll(' --admin http://127.0.0.1:9192', '')
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: place,
    env: {
      ...{ PATH: `${place}:${process.env['PATH']}`, HOME: place, LANG: 'C.UTF-8' },
      ...{ WINDOWPANE_LISTEN: here('127.0.0.1:9191'), WINDOWPANE_ADMIN_LISTEN: here('127.0.0.1:9192') },
      WINDOWPANE_TELEMETRY_LOG_LEVEL: 'silent',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  t.after(() => process.kill(-shell.pid!, 'SIGKILL'))
  let out = ''
  let heard = (): void => {}
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.on('data', (chunk) => {
      out += chunk
      heard()
    })
  }
  const until = (mark: string): Promise<string> => {
    const found = new Promise<string>((resolve) => {
      heard = () => {
        const end = out.indexOf(mark)
        if (end < 0) return
        resolve(out.slice(0, end))
        out = out.slice(end + mark.length)
        heard = () => {}
      }
      heard()
    })
    return bounded(found, () => `${mark} in ${out}`)
  }
  const steps = stepsIn(await readFile('docs/guide/start.md', 'utf8'))
  assert.ok(steps.length >= 10, `${steps.length} commands`)
  for (const { command, output } of steps) {
    const isBackground = command.endsWith('&')
    // A proxy in the background has printed everything when it prints the admin address.
    const done = isBackground
      ? `while kill -0 $! && ! grep -q 'Look inside' log; do sleep 0.05; done; cat log`
      : `{ ${here(command)}\n} 2>&1`
    const line = isBackground ? `: > log; ${here(command).replace(/&$/, '> log 2>&1 &')} ${done}` : done
    shell.stdin.write(`${line}\necho '<END>'\n`)
    const text = shown(await until('<END>\n'))
    assert.equal(masked(text), masked(output), command)
  }
})
