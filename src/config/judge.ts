/** Decides whether the server at a URL is a usable database, and, where it is none, names the remedy. */

import type { ConnectedDatabase, DatabaseKind } from '../backends/kind.ts'
import { type KindName, kindNames, kinds } from '../backends/kinds.ts'
import { connectTo, type Recognised, recognise } from './probe.ts'
import type { BackendConfig } from './schema.ts'

export interface Judgement {
  /**
   * `known`: it is cached, or will be once comparisons have shown that it can be. `uncached`: it has the API of a database,
   * but is not known to be one whose answers can be cut. `closed`: it needs other credentials. `other`: it is no database.
   */
  readonly verdict: 'known' | 'uncached' | 'closed' | 'other'
  readonly recognised: Recognised
  /** The finding, as a part of a sentence. */
  readonly found: string
  /** What to change, as a sentence. */
  readonly remedy?: string
}

export type Found = Pick<Judgement, 'verdict' | 'found' | 'remedy'>

/** Rejects where nothing answers. */
export type Connector = (backend: BackendConfig, url: string) => Promise<Found>

export const connect: Connector = async (backend, url) => {
  const database = await connectTo(backend, url)
  try {
    return await judge(database, backend, url)
  } finally {
    await database.close()
  }
}

/** @throws where nothing answers. */
export async function judge(
  database: ConnectedDatabase,
  backend: BackendConfig,
  url: string,
): Promise<Judgement> {
  const recognised = await recognise(database, backend, url)
  const { flavour, answer } = recognised
  const { status } = answer
  if (flavour.isKnown) return { verdict: 'known', recognised, found: flavour.label }
  if (status === 401 || status === 403) return { verdict: 'closed', recognised, ...closed(backend, status) }
  const candidates = backend.type === 'auto' ? kindNames : [backend.type]
  if (await isSpoken(candidates, database)) return judgeUnknown(recognised, backend)
  const mistaken = backend.type === 'auto' ? undefined : await mistakenType(database, backend.type, url)
  if (mistaken !== undefined) return { verdict: 'other', recognised, ...mistaken }
  const meant = backend.type === 'auto' ? 'a database' : kinds[backend.type].label
  const found = `something answers that is not ${meant}: ${flavour.label}`
  return { verdict: 'other', recognised, found, remedy: await remedyFor(backend, url) }
}

/** A database of another kind than was written. */
async function mistakenType(
  database: ConnectedDatabase,
  written: KindName,
  url: string,
): Promise<Pick<Judgement, 'found' | 'remedy'> | undefined> {
  const { kind, flavour } = await recognise(database, { type: 'auto' }, url)
  if (!flavour.isKnown) return undefined
  const found = `this is ${flavour.label}, not ${kinds[written].label}`
  return { found, remedy: `Set its type to ${kind}, or to auto.` }
}

function closed({ auth }: BackendConfig, status: number): Pick<Judgement, 'found' | 'remedy'> {
  if (auth.username === undefined && auth.token === undefined && auth.tokenFile === undefined) {
    const remedy = 'Set the auth of this backend, or rely on the credentials that clients bring.'
    return { found: `requires credentials (status ${status})`, remedy }
  }
  return { found: `refuses the credentials (status ${status})`, remedy: 'Check the auth of this backend.' }
}

/** It is cut into buckets only if the configuration names its kind. */
function judgeUnknown(recognised: Recognised, backend: BackendConfig): Judgement {
  const { status, text } = recognised.answer
  const kind: DatabaseKind = kinds[recognised.kind]
  const assumed = kind.assumedFlavour?.(backend)?.read(status, text)
  if (assumed?.isAssumed !== true) return { verdict: 'uncached', recognised, found: uncached(recognised) }
  const found = `${assumed.label}; it stays in shadow mode until enough answers were compared`
  return { verdict: 'known', recognised, found }
}

const uncached = ({ flavour, kind, isGuessed }: Recognised): string => {
  const assumed = isGuessed ? `; assuming ${kinds[kind].label}, by its port` : ''
  return `${flavour.label}${assumed}; requests are forwarded uncached`
}

async function isSpoken(candidates: readonly KindName[], database: ConnectedDatabase): Promise<boolean> {
  for (const name of candidates) {
    const kind: DatabaseKind = kinds[name]
    if (await kind.isSpokenBy(database)) return true
  }
  return false
}

const usualRemedy =
  'Give the URL of the database as a Grafana data source has it, without the path of a page or of an endpoint.'

/** Longer paths than this are no slips. */
const mostTries = 8

/** A URL that was copied from a browser or an API call has the path of a page: the database is at one of the paths above. */
async function remedyFor(backend: BackendConfig, url: string): Promise<string> {
  const { origin, pathname } = new URL(url)
  const segments = pathname.split('/').filter((segment) => segment !== '')
  for (let kept = segments.length - 1; kept >= Math.max(0, segments.length - mostTries); kept--) {
    const shorter = [origin, ...segments.slice(0, kept)].join('/')
    const database = await connectTo(backend, shorter)
    try {
      const { flavour } = await recognise(database, backend, shorter)
      if (flavour.isKnown) return `Use ${shorter} instead: that is ${flavour.label}.`
    } catch {
      return usualRemedy
    } finally {
      await database.close()
    }
  }
  return usualRemedy
}
