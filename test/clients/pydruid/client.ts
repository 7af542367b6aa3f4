/** pydruid as a client: a script that uses its query builders and its SQL cursor. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DruidClient, Subject } from '../client.ts'

const script = join(import.meta.dirname, 'queries.py')

export function pydruid(python: string, { dataSource, from, to }: Subject): DruidClient {
  const times = [from, to].map((at) => `${at.toISOString().slice(0, 19)}Z`)
  return {
    name: 'pydruid',
    async *ask(url) {
      const child = spawn(python, [script, url, dataSource, ...times], { stdio: ['pipe', 'pipe', 'inherit'] })
      const exit = new Promise((resolve) => child.once('close', resolve))
      for await (const name of createInterface({ input: child.stdout })) {
        yield name
        // It waits, so that the next request belongs to the next view.
        child.stdin.write('\n')
      }
      const code = await exit
      if (code !== 0) throw new Error(`pydruid ended with ${code}`)
    },
    stop: async () => {},
  }
}
