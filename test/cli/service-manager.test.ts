/** The proxy under a service manager that waits until it is ready. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { bounded } from '../wait.ts'
import { startCommand } from './child.ts'

/** Receives datagrams on a unix socket and prints one per line: Node has no such sockets. */
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode().replace('\\n', ' '), flush=True)`

async function startReceiver(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-notify-'))
  const path = join(folder, 'notify')
  const child = spawn('python3', ['-c', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  })
  let text = ''
  let look = () => {}
  child.stdout.on('data', (chunk) => {
    text += chunk
    look()
  })
  const says = (part: string) =>
    bounded(
      new Promise<void>((resolve) => {
        look = () => text.includes(part) && resolve()
        look()
      }),
      () => `${part} in ${text}`,
    )
  await says('bound')
  return { path, says }
}

test('systemd-notify reports ready once requests are served, and stopping on a signal', async (t) => {
  const has = (program: string) =>
    promisify(execFile)(program, ['--version']).then(
      () => true,
      () => false,
    )
  if (!(await has('systemd-notify')) || !(await has('python3'))) return t.skip('no systemd-notify or python3')
  const database = await startScriptedUpstream(t)
  const receiver = await startReceiver(t)
  const argv = [database.url, '--listen=127.0.0.1:0', '--admin.enabled=false']
  const proxy = startCommand(t, argv, { env: { NOTIFY_SOCKET: receiver.path } })
  await receiver.says('READY=1')
  proxy.process.kill('SIGTERM')
  await receiver.says('STOPPING=1')
  assert.equal(await proxy.exit, 0)
})
