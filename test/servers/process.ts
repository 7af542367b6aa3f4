/**
 * A server as a child process on loopback: own port, own temporary folder, ready when it answers.
 * Nothing outlives the parent: children are stopped and folders removed when it exits, also on a signal.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { scheduler } from 'node:timers/promises'
import { request } from 'undici'
import { systemClock } from '../../src/core/clock.ts'
import { HANG_MS } from '../wait.ts'
import { freePort } from './ports.ts'

/** A server that is busy starting may accept a connection and leave it: then another one is tried. */
const READY_ANSWER_MS = 10_000
const READY_POLL_MS = 20
const LOG_LINES = 40
const PORT_ATTEMPTS = 3

export interface ServerLocation {
  readonly port: number
  /** A folder of this server alone; it is kept over restarts and removed by stop(). */
  readonly folder: string
}

export interface ServerSpec {
  readonly name: string
  readonly program: string
  readonly args: (place: ServerLocation) => readonly string[]
  /** Any answer below 300 to a GET of this path means ready; without it, an accepted connection does. */
  readonly readyPath?: string
  /** Polled until it is true, instead of `readyPath`. */
  readonly isReady?: (place: ServerLocation) => Promise<boolean>
  /** Fills the folder before the first start. */
  readonly prepare?: (place: ServerLocation) => Promise<void>
  readonly readyDeadlineMs?: number
  /** How long it may take to end after SIGTERM. */
  readonly stopDeadlineMs?: number
  /** Its standard input is a pipe whose end means that the parent has ended, also where the parent was killed. */
  readonly leash?: boolean
  readonly environment?: Readonly<Record<string, string>>
}

export interface ServerProcess extends ServerLocation {
  readonly url: string
  readonly pid: number
  /** Returns the last lines the server printed. */
  log(): string
  /** Stops it (SIGTERM, after a deadline SIGKILL) and removes its folder. Calling it again does nothing. */
  stop(): Promise<void>
  /** Stops it and starts it again on the same port and folder. */
  restart(): Promise<void>
  /** Kills it (SIGKILL) and keeps its folder: restart() starts it again. */
  kill(): Promise<void>
  /** Freezes it: connections are accepted by the kernel, nothing answers. */
  pause(): void
  resume(): void
}

interface Child {
  readonly stopDeadlineMs: number
  readonly process: ChildProcess
  readonly exited: Promise<void>
  readonly lines: string[]
}

const children = new Set<ChildProcess>()
const folders = new Set<string>()

export async function startServer(spec: ServerSpec): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), `windowpane-${spec.name}-`))
  cleanUpOnExit()
  folders.add(folder)
  try {
    return await startOnFreePort(spec, folder)
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
}

/** Another process may take the port between our look and the server's bind: then another port is tried. */
async function startOnFreePort(spec: ServerSpec, folder: string): Promise<ServerProcess> {
  for (let attempt = 1; ; attempt++) {
    const place = { folder, port: await freePort() }
    await spec.prepare?.(place)
    try {
      return handle(spec, place, await launch(spec, place))
    } catch (error) {
      if (attempt === PORT_ATTEMPTS || !/address already in use/i.test(String(error))) throw error
    }
  }
}

function handle(spec: ServerSpec, place: ServerLocation, first: Child): ServerProcess {
  let child = first
  return {
    ...place,
    url: baseUrl(place),
    get pid() {
      return child.process.pid!
    },
    log: () => child.lines.join('\n'),
    async stop() {
      await terminate(child)
      await removeFolder(place.folder)
    },
    async restart() {
      await terminate(child)
      child = await launch(spec, place)
    },
    async kill() {
      child.process.kill('SIGKILL')
      await child.exited
    },
    pause: () => freeze(child.process),
    resume: () => void child.process.kill('SIGCONT'),
  }
}

/**
 * The signal is delivered a moment after `kill` returns: waits until the kernel reports that the process is stopped.
 */
function freeze(child: ChildProcess): void {
  child.kill('SIGSTOP')
  const began = systemClock.elapsed()
  while (systemClock.elapsed() - began < HANG_MS) {
    const state = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1]?.[0]
    if (state === 'T') return
  }
  throw new Error(`process ${child.pid} does not stop`)
}

async function launch(spec: ServerSpec, place: ServerLocation): Promise<Child> {
  const child = spawnChild(spec, place)
  try {
    await untilReady(spec, place, child)
    return child
  } catch (error) {
    await terminate(child)
    throw new Error(`${(error as Error).message}; its last lines:\n${child.lines.join('\n')}`)
  }
}

function spawnChild(spec: ServerSpec, place: ServerLocation): Child {
  const child = spawn(spec.program, spec.args(place), {
    stdio: [spec.leash ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    cwd: place.folder,
    env: { ...process.env, ...spec.environment },
  }) as ChildProcess & { readonly stdout: Readable; readonly stderr: Readable }
  const lines: string[] = []
  const keep = (chunk: string) => {
    lines.push(...chunk.split('\n').filter((line) => line !== ''))
    lines.splice(0, lines.length - LOG_LINES)
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  children.add(child)
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', (error) => {
      keep(String(error))
      resolve()
    })
  })
  void exited.then(() => children.delete(child))
  return { process: child, exited, lines, stopDeadlineMs: spec.stopDeadlineMs ?? HANG_MS }
}

async function untilReady(spec: ServerSpec, place: ServerLocation, child: Child): Promise<void> {
  const deadlineMs = spec.readyDeadlineMs ?? HANG_MS
  const { isReady = defaultReady(spec) } = spec
  const started = systemClock.elapsed()
  while (systemClock.elapsed() - started < deadlineMs) {
    if (hasEnded(child)) throw new Error(`${spec.name} ended before it was ready`)
    if (await isReady(place)) return
    await scheduler.wait(READY_POLL_MS)
  }
  throw new Error(`${spec.name} was not ready after ${deadlineMs} ms`)
}

const defaultReady =
  ({ readyPath }: ServerSpec) =>
  (place: ServerLocation): Promise<boolean> =>
    readyPath === undefined ? accepts(place.port) : answers(`${baseUrl(place)}${readyPath}`)

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await request(url, { headersTimeout: READY_ANSWER_MS })
    await response.body.dump()
    return response.statusCode < 300
  } catch {
    return false
  }
}

async function terminate(child: Child): Promise<void> {
  if (!hasEnded(child)) {
    child.process.kill('SIGTERM')
    child.process.kill('SIGCONT') // a paused process sees SIGTERM only once it runs again
  }
  const killing = systemClock.after(child.stopDeadlineMs, () => child.process.kill('SIGKILL'))
  await child.exited
  killing.cancel()
}

function hasEnded(child: Child): boolean {
  return (
    child.process.pid === undefined || child.process.exitCode !== null || child.process.signalCode !== null
  )
}

function baseUrl(place: ServerLocation): string {
  return `http://127.0.0.1:${place.port}`
}

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  folders.delete(folder)
}

let installed = false

function cleanUpOnExit(): void {
  if (installed) return
  installed = true
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL')
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
}
