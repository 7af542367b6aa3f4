/** A Node program as a process on the cores given, known by the URL it prints. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface NodeProcess {
  readonly url: string
  readonly child: ChildProcess
}

/** Waits for the first URL that the program prints; it is killed with this process at the latest. */
export async function startNode(core: number | string, args: readonly string[]): Promise<NodeProcess> {
  const child = spawn('taskset', ['-c', String(core), process.execPath, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.on('exit', () => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)
    if (url !== null) return { url: url[0], child }
  }
  throw new Error(`${args.join(' ')} ended without saying where it listens`)
}

/** Seconds of the core that a process has used so far: unlike a rate, others on the machine hardly change it. */
export const cpuSeconds = ({ child }: NodeProcess): number => cpuSecondsOf(child.pid!)

export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return ticks / 100
}
