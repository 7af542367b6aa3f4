import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { request } from 'undici'
import { eventually } from '../wait.ts'
import { type ServerSpec, startServer } from './process.ts'

const LISTEN = `require('http').createServer((q, r) => r.end(String(process.pid))).listen(process.argv[1], '127.0.0.1')`

function nodeServer(script: string, options: Partial<ServerSpec> = {}): ServerSpec {
  return {
    name: 'probe',
    program: process.execPath,
    args: ({ port }) => ['-e', script, String(port)],
    readyPath: '/',
    ...options,
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('stop() ends the process and removes its folder, also when it is paused', async () => {
  const server = await startServer(nodeServer(LISTEN))
  const { pid, folder } = server
  assert.ok(existsSync(folder))
  server.pause()
  await server.stop()
  assert.equal(isAlive(pid), false)
  assert.equal(existsSync(folder), false)
  await server.stop()
})

test('restart() keeps the port and gives a new process', async (t) => {
  const server = await startServer(nodeServer(LISTEN))
  t.after(() => server.stop())
  const before = server.pid
  await server.restart()
  const answer = await request(server.url)
  assert.equal(await answer.body.text(), String(server.pid))
  assert.notEqual(server.pid, before)
})

test('a process that does not heed SIGTERM is killed', async () => {
  const server = await startServer(
    nodeServer(`process.on('SIGTERM', () => {}); ${LISTEN}`, { stopDeadlineMs: 100 }),
  )
  await server.stop()
  assert.equal(isAlive(server.pid), false)
})

test('a server that ends before it is ready fails with its last lines', async () => {
  await assert.rejects(
    startServer(nodeServer(`console.error('bad flag'); process.exit(2)`)),
    /ended before.*bad flag/s,
  )
})

test('a server that never gets ready is stopped', async () => {
  const spec = nodeServer(`console.log('waiting'); setInterval(() => {}, 1000)`, { readyDeadlineMs: 300 })
  await assert.rejects(startServer(spec), /not ready after 300 ms/)
})

test('a program that does not exist fails with its name', async () => {
  await assert.rejects(startServer(nodeServer('', { program: '/no/such/program' })), /no\/such\/program/)
})

for (const ending of [
  'process.exit(0)',
  `process.kill(process.pid, 'SIGTERM')`,
  `throw new Error('crash')`,
]) {
  test(`a server does not outlive its parent: ${ending}`, async () => {
    const [url, folder] = JSON.parse(await outputOf(parentOf(LISTEN, ending))) as [string, string]
    assert.equal(existsSync(folder), false)
    await untilRefused(url)
  })
}

test('a server on a leash does not outlive a parent that was killed', async () => {
  const onLeash = `process.stdin.on('end', () => process.exit()).resume(); ${LISTEN}`
  const script = parentOf(onLeash, `process.kill(process.pid, 'SIGKILL')`)
  const [url, folder] = JSON.parse(await outputOf(script)) as [string, string]
  await untilRefused(url)
  await rm(folder, { recursive: true })
})

/** A script that starts a server, prints its address and folder, and ends in the given way. */
function parentOf(server: string, ending: string): string {
  const module = JSON.stringify(join(import.meta.dirname, 'process.ts'))
  return `
    const { startServer } = await import(${module})
    const server = await startServer({ name: 'probe', program: process.execPath, readyPath: '/', leash: true,
      args: ({ port }) => ['-e', ${JSON.stringify(server)}, String(port)] })
    process.stdout.write(JSON.stringify([server.url, server.folder]), () => { ${ending} })`
}

function outputOf(script: string): Promise<string> {
  const args = ['--input-type=module', '-e', script]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  parent.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  return new Promise((resolve) => parent.once('close', () => resolve(output)))
}

/**
 * Not by its process id: the process that inherits an orphan may be slow to reap it. The kernel needs a moment to close
 * its port.
 */
async function untilRefused(url: string): Promise<void> {
  const probe = () =>
    request(url).then(
      (answer) => answer.body.dump().then(() => 'answered'),
      (error) => String(error.code),
    )
  await eventually(probe, (reply) => reply === 'ECONNREFUSED')
}
