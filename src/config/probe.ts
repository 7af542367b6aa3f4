/** Queries the kind of a configured database, with the certificates and credentials that the configuration names. */
import { readFile } from 'node:fs/promises'
import type { Flavour } from '../backends/backend.ts'
import type { ConnectedDatabase, DatabaseAnswer } from '../backends/kind.ts'
import { type KindName, kindByPort, kindNames, kinds } from '../backends/kinds.ts'
import { Pool, request } from '../core/undici.ts'
import type { BackendConfig } from './schema.ts'

const usualPatienceMs = 5_000

export interface Recognised {
  readonly kind: KindName
  readonly flavour: Flavour
  /** The type is assumed from the port: the database was not recognised. */
  readonly isGuessed: boolean
  /** Its response to the query of that kind. */
  readonly answer: DatabaseAnswer
}

/** A database of a given type is queried as such; any other as each kind in turn, until one is recognised. */
export async function recognise(
  database: ConnectedDatabase,
  { type }: Pick<BackendConfig, 'type'>,
  url: string,
): Promise<Recognised> {
  const found: Omit<Recognised, 'isGuessed'>[] = []
  // Databases with the same API are distinguished by one response.
  const answers = new Map<string, DatabaseAnswer>()
  for (const kind of type === 'auto' ? kindNames : [type]) {
    const { path, read } = kinds[kind].flavour
    const answer = answers.get(path) ?? (await database.get(path))
    answers.set(path, answer)
    const flavour = read(answer.status, answer.text)
    if (flavour.isKnown) return { kind, flavour, answer, isGuessed: false }
    found.push({ kind, flavour, answer })
  }
  const guess = type === 'auto' ? kindByPort(url) : type
  return { ...found.find(({ kind }) => kind === guess)!, isGuessed: type === 'auto' }
}

/** No answer to such a question is longer. */
const maxResponseSize = 4 * 1024 * 1024

export async function connectTo(
  backend: BackendConfig,
  url: string,
  patienceMs = usualPatienceMs,
): Promise<ConnectedDatabase> {
  const { origin, pathname } = new URL(url)
  const prefix = pathname.replace(/\/+$/, '')
  const pool = new Pool(origin, {
    ...{ headersTimeout: patienceMs, bodyTimeout: patienceMs, maxResponseSize },
    connect: { timeout: patienceMs, ...(await connectOptions(backend)) },
  })
  const ask = async (path: string, sent: { readonly json?: string } = {}): Promise<DatabaseAnswer> => {
    const authorization = await authorizationOf(backend.auth)
    const { statusCode, headers, body } = await request(pool, {
      ...{ method: 'GET', path: prefix + path },
      headers: {
        ...(authorization !== undefined && { authorization }),
        ...(sent.json !== undefined && { 'content-type': 'application/json' }),
      },
      ...(sent.json !== undefined && { method: 'POST', body: sent.json }),
    })
    return { status: statusCode, text: await body.text(), date: [headers['date']].flat()[0] }
  }
  return {
    get: (path) => ask(path),
    post: (path, value) => ask(path, { json: JSON.stringify(value) }),
    close: () => pool.destroy(),
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
