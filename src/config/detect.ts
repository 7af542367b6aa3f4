/** Finds out, at the start, of which kind each database is whose type is not written. */
import { type KindName, kindByPort } from '../backends/kinds.ts'
import type { Clock } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { connectTo, recognise } from './probe.ts'
import type { BackendConfig, Config } from './schema.ts'

export interface Detected {
  readonly kind: KindName
  /**
   * The type is assumed from the port: it is not written, and the database could not be queried or was not recognised.
   */
  readonly isGuessed: boolean
}

/** By the names of the backends. */
export type DetectedKinds = ReadonlyMap<string, Detected>

/** No request is served before: a database that takes longer is classified by its port. */
const patienceMs = 2_000

export async function detectKinds({ backends }: Config, clock: Clock): Promise<DetectedKinds> {
  const found = Object.entries(backends).map(
    async ([name, backend]) => [name, await detect(backend, clock)] as const,
  )
  return new Map(await Promise.all(found))
}

/** Several URLs are equal databases: the first that answers decides. */
async function detect(backend: BackendConfig, clock: Clock): Promise<Detected> {
  const { type, url } = backend
  if (type !== 'auto') return { kind: type, isGuessed: false }
  const told = await Promise.all(url.map((each) => kindAt(backend, each, clock)))
  const kind = told.find((each) => each !== undefined)
  return kind === undefined ? { kind: kindByPort(url[0]!), isGuessed: true } : { kind, isGuessed: false }
}

/** Undefined where it does not answer in time. */
async function kindAt(backend: BackendConfig, url: string, clock: Clock): Promise<KindName | undefined> {
  try {
    const database = await connectTo(backend, url, patienceMs)
    try {
      const found = await inTime(recognise(database, backend, url), clock, patienceMs)
      return found.isGuessed ? undefined : found.kind
    } finally {
      await database.close()
    }
  } catch {
    return undefined
  }
}
