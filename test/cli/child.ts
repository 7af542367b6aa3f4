/** The command as people start it: a process with arguments, input, output, signals and an exit code. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until } from '../proxy/client.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'

const main = join(import.meta.dirname, '../../src/cli/main.ts')

export interface Child {
  readonly process: ChildProcess
  readonly out: () => string
  readonly err: () => string
  /** The exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>
  /** What it can read; without it there is nothing. */
  readonly input?: string
  readonly cwd?: string
}

/** Starts the command; it is killed at the end of the test at the latest. */
export function startCommand(t: TestContext, argv: readonly string[], options: ChildOptions = {}): Child {
  const child = spawn(process.execPath, [main, ...argv], {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
  })
  let [out, err] = ['', '']
  child.stdout!.on('data', (chunk) => {
    out += chunk
  })
  child.stderr!.on('data', (chunk) => {
    err += chunk
  })
  child.stdin?.end(options.input)
  t.after(() => child.kill('SIGKILL'))
  const exit = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal!))
  })
  return { process: child, out: () => out, err: () => err, exit }
}

/** The address of a proxy that was started, once it is ready. */
export async function readyAddress({ out, err, process: child }: Child): Promise<string> {
  await until(() => out().includes('\n') || child.exitCode !== null)
  const match = /is ready: (https?:\/\/[^/\s]+)/.exec(out())
  assert.ok(match, out() + err())
  return match[1]!
}

export interface RunningProxy {
  readonly upstream: ScriptedUpstream
  readonly child: Child
  readonly url: string
  /** Of its admin listener. */
  readonly admin: string
}

/** A proxy with an admin listener in front of a scripted database. */
export async function startProxy(t: TestContext, ...flags: string[]): Promise<RunningProxy> {
  const upstream = await startScriptedUpstream(t)
  const usual = ['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--telemetry.log-level=silent']
  const child = startCommand(t, [upstream.url, ...usual, ...flags])
  const url = await readyAddress(child)
  await until(() => /^Look inside: /m.test(child.out()))
  return { upstream, child, url, admin: /^Look inside: (\S+?)\/-\//m.exec(child.out())![1]! }
}

export interface Ended {
  readonly code: number | string
  readonly out: string
  readonly err: string
}

/** Runs the command to its end. */
export async function runToEnd(
  t: TestContext,
  argv: readonly string[],
  options?: ChildOptions,
): Promise<Ended> {
  const child = startCommand(t, argv, options)
  const code = await child.exit
  return { code, out: child.out(), err: child.err() }
}

/** Waits until so many read along at an admin listener. */
export async function seenBy(admin: string, count: number): Promise<void> {
  for (;;) {
    const status = (await (await fetch(`${admin}/-/status`)).json()) as { recorder: { subscribers: number } }
    if (status.recorder.subscribers === count) return
  }
}
