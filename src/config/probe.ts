/** Queries the kind of a configured database, with the certificates and credentials that the configuration names. */
import type { Flavour } from '../backends/backend.ts'
import type { ConnectedDatabase, DatabaseAnswer } from '../backends/kind.ts'
import { type KindName, kindByPort, kindNames, kinds } from '../backends/kinds.ts'
import { systemClock } from '../core/clock.ts'
import { Credentials } from '../core/credentials.ts'
import { WindowpaneError } from '../core/errors.ts'
import { connectOptions, tlsFilesFor } from '../core/tls-files.ts'
import { Pool, request } from '../core/undici.ts'
import type { Unusable } from '../core/watched-file.ts'
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
  const parsed = new URL(url)
  const { origin, pathname } = parsed
  const prefix = pathname.replace(/\/+$/, '')
  const credentials = new Credentials(backend.auth, systemClock)
  const files = tlsFilesFor(parsed, backend, systemClock)
  files?.check()
  if (files?.error !== undefined) throw unusable({ error: files.error })
  const pool = new Pool(origin, {
    ...{ headersTimeout: patienceMs, bodyTimeout: patienceMs, maxResponseSize },
    connect: { timeout: patienceMs, ...connectOptions(backend, files?.material) },
  })
  const ask = async (path: string, sent: { readonly json?: string } = {}): Promise<DatabaseAnswer> => {
    const found = credentials.authorization()
    if ('error' in found) throw unusable(found)
    const { value: authorization } = found
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

/** Rejected as the proxy would: nothing is sent to a database with which it could not talk. */
const unusable = ({ error, sentence = error }: Unusable): WindowpaneError =>
  new WindowpaneError('WINDOWPANE_BAD_OPTION', sentence, {
    remedy: 'Check the auth and tls of this backend.',
  })
