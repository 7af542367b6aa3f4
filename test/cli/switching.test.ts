/** purge, mode and shadow against a real proxy. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { version } from '../../src/version.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { runToEnd, startProxy } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

test('a proxy is purged, put into shadow mode, looked at, and switched back', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-switching-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const token = join(folder, 'token')
  await writeFile(token, 'hunter2\n')
  const { upstream, child, url, admin } = await startProxy(
    t,
    '--admin.token-file',
    token,
    '--admin.allow-writes',
  )
  const command = (...argv: string[]) => runToEnd(t, [...argv, '--admin', admin, '--token-file', token])

  await ask(url, path)
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  const dry = await command('purge', '--source', 'up', '--dry-run')
  assert.equal(dry.code, 0)
  assert.match(
    dry.err,
    new RegExp(
      `^windowpane: talking to Windowpane ${version} at ${admin} \\(pid ${child.process.pid}, configuration flags, main → ${upstream.url}/\\)\n$`,
    ),
  )
  assert.match(
    dry.out,
    /^Selected: 11 buckets of 1 shape \(source up\)\.\nbuckets +backend +shape\n +11 +main +up\n/,
  )
  assert.equal(
    (await command('purge', '--source', 'down', '--dry-run')).out,
    'Selected: 0 buckets of 0 shapes (source down).\n',
  )
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  const purged = await command(
    'purge',
    '--backend',
    'main',
    '--from',
    '2026-01-01T00:05:00Z',
    '--yes',
    '--json',
  )
  assert.equal((JSON.parse(purged.out) as { buckets: number }).buckets > 0, true)
  assert.equal(outcomeOf(await ask(url, path)), 'partial/absent')
  assert.equal((await command('purge', '--from', 'soon', '--dry-run')).code, 2)

  assert.match(
    (await command('shadow', 'report')).out,
    /main: mode on; nothing was compared\.\nBegin with: windowpane mode/,
  )
  assert.match((await command('mode', 'main', 'shadow')).out, /^main is shadow \(it was on\)/)
  assert.equal(outcomeOf(await ask(url, path)), 'bypass/shadow')
  const report = await command('shadow', 'report', '--backend', 'main')
  assert.equal(report.code, 5)
  assert.match(report.out, /^main: WAIT {2}mode shadow since /)
  upstream.generation = 2
  await ask(url, path)
  const after = await command('shadow', 'report', '--json')
  const { backends } = JSON.parse(after.out) as { backends: { mismatches: { id: string }[] }[] }
  const [mismatch] = backends[0]!.mismatches
  assert.ok(mismatch, after.out)
  const shown = await command('shadow', 'show', mismatch.id)
  assert.equal(shown.code, 0)
  assert.match(
    shown.out,
    /\ncached \(\d+ bytes\):\n\{"status"[\s\S]*,"1"\][\s\S]*\ndirect \(\d+ bytes\):\n\{"status"[\s\S]*,"2"\]/,
  )
  assert.equal((await command('shadow', 'show', 'nonsense')).code, 1)

  assert.match((await command('mode', 'main', 'on')).out, /^main is on \(it was shadow\)/)
  assert.notEqual(outcomeOf(await ask(url, path)), 'bypass/shadow')
  const tokenless = await runToEnd(t, ['mode', 'main', 'off', '--admin', admin])
  assert.equal(tokenless.code, 3)
  assert.match(tokenless.err, /a bearer token is needed/)
})

test('a proxy that does not allow it is not changed, but counts', async (t) => {
  const { admin } = await startProxy(t)
  const denied = await runToEnd(t, ['purge', '--all', '--yes', '--admin', admin])
  assert.equal(denied.code, 1)
  assert.match(denied.err, /read-only.*\nSet admin\.allowWrites: true/)
  assert.equal((await runToEnd(t, ['purge', '--all', '--dry-run', '--admin', admin])).code, 0)
})
