/** Asks a configured database what it is, with the certificates and credentials that the configuration names. */
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { flavourPath, readFlavour } from '../backends/prometheus/flavour.ts'
import type { BackendConfig } from './schema.ts'

/** Resolves to what was found, for people; rejects where nothing answers. */
export type Connector = (backend: BackendConfig, url: string) => Promise<string>

const patienceMs = 5_000

export const probe: Connector = async (backend, url) => {
  const database = await connectTo(backend, url)
  try {
    const { status, text } = await database.get(flavourPath)
    if (status === 401 || status === 403) throw new Error(`refuses the credentials (status ${status})`)
    return readFlavour(status, text).label
  } finally {
    await database.close()
  }
}

export interface DatabaseAnswer {
  readonly status: number
  readonly text: string
  /** Its Date header. */
  readonly date: string | undefined
}

export interface ConnectedDatabase {
  get(path: string): Promise<DatabaseAnswer>
  close(): Promise<void>
}

export async function connectTo(backend: BackendConfig, url: string): Promise<ConnectedDatabase> {
  const agent = new Agent({
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
    connect: { timeout: patienceMs, ...(await connectOptions(backend)) },
  })
  return {
    async get(path) {
      const authorization = await authorizationOf(backend.auth)
      const { statusCode, headers, body } = await request(`${url.replace(/\/+$/, '')}${path}`, {
        dispatcher: agent,
        headers: authorization === undefined ? {} : { authorization },
      })
      const date = headers['date']
      return {
        status: statusCode,
        text: await body.text(),
        date: typeof date === 'string' ? date : undefined,
      }
    },
    close: () => agent.destroy(),
  }
}

async function connectOptions({ tls, socket }: BackendConfig): Promise<Record<string, string | Buffer>> {
  const files = { ca: tls.ca, cert: tls.cert, key: tls.key }
  const read = await Promise.all(
    Object.entries(files).map(async ([name, file]) =>
      file === undefined ? [] : [[name, await readFile(file)]],
    ),
  )
  return {
    ...Object.fromEntries(read.flat()),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(socket === undefined ? {} : { socketPath: socket }),
  }
}

/** The Authorization header that Windowpane itself sends; files are read every time, because they change. */
export async function authorizationOf(auth: BackendConfig['auth']): Promise<string | undefined> {
  const { username, password, passwordFile, token, tokenFile } = auth
  if (username !== undefined) {
    const secret = password?.reveal() ?? (passwordFile === undefined ? '' : await firstLine(passwordFile))
    return `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`
  }
  const secret = token?.reveal() ?? (tokenFile === undefined ? undefined : await firstLine(tokenFile))
  return secret === undefined ? undefined : `Bearer ${secret}`
}

const firstLine = async (file: string): Promise<string> => (await readFile(file, 'utf8')).split(/\r?\n/)[0]!
