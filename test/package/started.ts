/** The installed command as a running proxy. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { environment, type Package } from './packed.ts'

export interface Started {
  readonly url: string
  readonly err: () => string
  /** Ends it as an operator would; resolves to the exit code, or to the signal that ended it. */
  stop(): Promise<number | string>
}

export async function startInstalled(t: TestContext, { app }: Package, args: string[]): Promise<Started> {
  const command = join(app, 'node_modules/.bin/windowpane')
  const child = spawn(command, [...args, '--listen=127.0.0.1:0', '--admin.enabled=false'], {
    cwd: app,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let err = ''
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const exit = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal!))
  })
  const stop = () => {
    child.kill('SIGTERM')
    return exit
  }
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /is listening: (\S+) → /.exec(line)?.[1]
    if (url !== undefined) return { url, err: () => err, stop }
  }
  throw new Error(`it ended before it was ready: ${err}`)
}
