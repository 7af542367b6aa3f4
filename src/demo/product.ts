/** The proxy of the demo: Windowpane as users start it, in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { extname, join } from 'node:path'
import { usualAdminAddress } from '../config/checks.ts'
import { WindowpaneError } from '../core/errors.ts'

export interface Product {
  readonly pid: number
  readonly url: string
  /** The URL of the admin listener. */
  readonly admin: string
  close(): Promise<void>
}

const usualListen = '127.0.0.1:9191'
const anyAddress = '127.0.0.1:0'

const main = join(import.meta.dirname, `../cli/main${extname(import.meta.filename)}`)

/**
 * Without `listen` and `adminListen` at the usual addresses, or at any free ones where those are taken. @throws
 * WindowpaneError where it does not start.
 */
export async function startProduct(
  databaseUrl: string,
  listen?: string,
  adminListen?: string,
): Promise<Product> {
  const address = listen ?? (await freeAddress(usualListen))
  const admin = adminListen ?? (await freeAddress(usualAdminAddress))
  const flags = ['--listen', address, '--admin.listen', admin, '--telemetry.log-level', 'error']
  const child = spawn(process.execPath, [main, databaseUrl, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: withoutSettings(process.env),
  })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const close = async () => {
    child.kill('SIGTERM')
    await exited
  }
  const { url, admin: adminUrl } = await arrival(child, exited)
  if (adminUrl !== undefined) return { pid: child.pid!, url, admin: adminUrl, close }
  // Another process has taken it since it was looked at.
  await close()
  return startProduct(databaseUrl, address, anyAddress)
}

/** The configuration of another proxy is not that of the demo. */
const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('WINDOWPANE_')))

/** The address itself where no process listens there; else any free port. */
function freeAddress(address: string): Promise<string> {
  const [host, port] = address.split(':') as [string, string]
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(`${host}:0`))
    server.listen({ host, port: Number(port) }, () => server.close(() => resolve(address)))
  })
}

interface Arrival {
  readonly url: string
  /** Undefined where its address is taken. */
  readonly admin: string | undefined
}

async function arrival(child: ChildProcess, exited: Promise<void>): Promise<Arrival> {
  let [out, err] = ['', '']
  child.stderr!.on('data', (chunk) => {
    err += chunk
  })
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (chunk) => {
      out += chunk
      const url = /is listening: (\S+) → /.exec(out)?.[1]
      const admin = /^Look inside: (\S+?)\/-\/|^There is no admin listener/m.exec(out)
      if (url !== undefined && admin !== null) resolve({ url, admin: admin[1] })
    })
    void exited.then(() => reject(startFailed(err)))
  })
}

/** Each line of its log is a JSON object. */
function startFailed(err: string): WindowpaneError {
  const messages = err.split('\n').flatMap((line) => /"message":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? [])
  const message = messages.join('; ') || err.trim() || 'the proxy ended'
  const remedy = 'Choose another address with --listen HOST:PORT.'
  return new WindowpaneError('WINDOWPANE_LISTEN_FAILED', message, { remedy })
}
