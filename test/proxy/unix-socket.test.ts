/** Unix sockets in the place of ports, for the proxy and its admin listener. As a process. */
import assert from 'node:assert/strict'
import { lstat, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { runToEnd, startCommand } from '../cli/child.ts'
import { eventually } from '../wait.ts'
import { rangePath } from './matrix.ts'
import { startScriptedUpstream } from './scripted-upstream.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-socket-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

/** The `Cache-Status` of a response. */
const askSocket = (socketPath: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const asking = request({ socketPath, path, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(String(response.headers['cache-status'])))
    })
    asking.on('error', reject)
    asking.end()
  })

const isThere = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  )

for (const workers of [1, 2]) {
  test(`a unix socket serves, and is removed at the end, with ${workers} worker(s)`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    const place = await folder(t)
    const [socket, admin] = [join(place, 'proxy.sock'), join(place, 'admin.sock')]
    const flags = [`--listen=unix:${socket}`, `--admin.listen=unix:${admin}`, `--workers=${workers}`]
    const start = () => startCommand(t, [upstream.url, ...flags])
    const child = start()
    await child.says(new RegExp(`is listening: unix:${socket} → `))
    await child.says(new RegExp(`^Look inside: windowpane top --admin unix:${admin}$`, 'm'))
    for (const file of [socket, admin]) assert.equal((await lstat(file)).mode & 0o777, 0o660)
    assert.match(await askSocket(socket), /^windowpane; fwd=miss/)
    assert.match(await askSocket(socket), /^windowpane; hit/)
    for (const command of [['status'], ['top', '--once'], ['explain', 'up', '--run']]) {
      const { code, err } = await runToEnd(t, [...command, '--admin', `unix:${admin}`])
      assert.deepEqual([code, err], [0, ''], command.join(' '))
    }
    const second = await runToEnd(t, [upstream.url, ...flags])
    assert.equal(second.code, 2)
    assert.match(second.err, /cannot listen on unix:\S+: another process listens there/)
    child.process.kill('SIGKILL')
    await child.exit
    assert.ok(await isThere(socket), 'a killed process leaves its socket')
    const heir = start()
    await heir.says(/is listening: unix:/)
    await eventually(
      () => askSocket(socket).catch(() => ''),
      (status) => status.startsWith('windowpane;'),
    )
    heir.process.kill('SIGTERM')
    assert.equal(await heir.exit, 0)
    assert.deepEqual([await isThere(socket), await isThere(admin)], [false, false])
  })
}

test('a file that is not a socket is left alone', async (t) => {
  const file = join(await folder(t), 'proxy.sock')
  await writeFile(file, 'precious')
  const { code, err } = await runToEnd(t, [
    'http://127.0.0.1:9',
    `--listen=unix:${file}`,
    '--admin.enabled=false',
  ])
  assert.equal(code, 2)
  assert.match(err, /there is a file of that name that is not a socket/)
  assert.ok((await lstat(file)).isFile())
})
