/** Servers on one core, load on the other. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const serverCore = 0
export const loadCore = 1

/** All threads of a process; those it starts later inherit the core. */
export async function pin(pid: number, core: number): Promise<void> {
  await run('taskset', ['-a', '-c', '-p', String(core), String(pid)])
}
