/** The command as people start it: a process with arguments, input, output, signals and an exit code. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { bounded, eventually } from '../wait.ts'

const main = join(import.meta.dirname, '../../src/cli/main.ts')

export interface Child {
  readonly process: ChildProcess
  readonly out: () => string
  readonly err: () => string
  /** Returns the match once its output has it. @throws when it ends without. */
  says(pattern: RegExp, from?: 'out' | 'err'): Promise<RegExpExecArray>
  /** The exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Its standard input; empty by default. */
  readonly input?: string
  readonly cwd?: string
  /** Another build of the program; the sources by default. */
  readonly main?: string
}

/** Where endings are registered: a test, or a command that runs them itself. */
export interface Cleanup {
  after(ending: () => void | Promise<void>): unknown
}

/** Starts the command; it is killed at the end of the test at the latest. */
export function startCommand(t: Cleanup, argv: readonly string[], options: ChildOptions = {}): Child {
  const child = spawn(process.execPath, [options.main ?? main, ...argv], {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
  })
  child.stdin?.end(options.input)
  t.after(() => void child.kill('SIGKILL'))
  return watch(child)
}

function watch(child: ChildProcess): Child {
  const said = { out: '', err: '' }
  for (const [stream, from] of [[child.stdout!, 'out'] as const, [child.stderr!, 'err'] as const]) {
    stream.on('data', (chunk) => {
      said[from] += chunk
    })
  }
  const exit = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal!))
  })
  const says = (pattern: RegExp, from: 'out' | 'err' = 'out') => {
    const found = new Promise<RegExpExecArray>((resolve, reject) => {
      const stream = from === 'out' ? child.stdout! : child.stderr!
      const look = () => {
        const match = pattern.exec(said[from])
        if (match === null) return
        stream.off('data', look)
        resolve(match)
      }
      stream.on('data', look)
      look()
      void exit.then((how) =>
        reject(new Error(`it ended (${how}) without ${pattern}: ${said.out}${said.err}`)),
      )
    })
    return bounded(found, () => `${pattern} in ${said.out}${said.err}`)
  }
  return { process: child, out: () => said.out, err: () => said.err, says, exit }
}

/** The address of a proxy that was started, once it listens. */
export async function readyAddress(child: Child): Promise<string> {
  const [, url] = await child.says(/is listening: (https?:\/\/[^/\s]+)[/\s]/)
  return url!
}

/** The address of its admin listener, once that is open. */
export async function adminAddress(child: Child): Promise<string> {
  const [, url] = await child.says(/^Look inside: (\S+?)\/-\//m)
  return url!
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
  return { upstream, child, url, admin: await adminAddress(child) }
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
  return { code, out: child.out(), err: child.err().replaceAll(progress, '') }
}

/** An operation of more than a second prints progress, and on a busy machine any may. */
const progress = /^windowpane: (?:waiting for \S+|asking the databases)\n/gm

/** Waits until so many read along at an admin listener. */
export async function seenBy(admin: string, count: number): Promise<void> {
  const probe = async () => {
    const status = (await (await fetch(`${admin}/-/status`)).json()) as { recorder: { subscribers: number } }
    return status.recorder.subscribers
  }
  await eventually(probe, (subscribers) => subscribers === count)
}
