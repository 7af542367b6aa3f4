/** The description of one kind of store that the rest of the program uses before, and without, loading its engine. */
import type { Section } from '../config/definition.ts'
import type { Clock } from '../core/clock.ts'
import type { Cells } from './cells.ts'
import type { Store } from './store.ts'

export interface StoreKind<C = unknown> {
  /** Schemes of the URLs that name such a store, without the colon. */
  readonly schemes: readonly string[]
  /** How such a URL is written, for messages and documentation. */
  readonly urlForm: string
  /** The keys below `stores.<name>`, besides `type` and `url`. Parameters of a URL are keys of this section. */
  readonly section: Section<C>
  /** The keys that a URL sets by the part before its parameters. */
  readUrl(url: StoreUrl): UrlKeys | RefusedUrl
  /** Whether memory stands in front of it. The memory of this process is the only kind that needs none. */
  readonly isFar: boolean
  /** Whether it is behind a network, so that nodes on other machines write to it too. */
  readonly isRemote?: boolean
  readonly capabilities: StoreAbilities
  /** How long one read or write may take before requests go on without it. */
  readonly timeoutMs: number
  /** The place of the data, and the configuration key that names it: no two stores may have the same place. */
  placeOf?(config: C): { readonly key: string; readonly place: string }
  /** For `windowpane check`: why the store would be refused, as far as that shows without loading its engine. */
  distrust?(config: C): Promise<Refused | undefined>
  /** For `windowpane doctor`: looks without leaving anything behind. */
  examine(config: C, clock: Clock): Promise<readonly StoreFinding[]>
  /** For `windowpane store check`: queries the engine itself. */
  inspect(config: C, clock: Clock): Promise<Inspected | Refused>
  /** For `windowpane store init`, where an engine needs tables before it can be used. */
  readonly setup?: StoreSetup<C>
  /**
   * Loads the engine and opens the store, or returns the reason why it cannot be used. A server that is down is no
   * reason: the operations of the store fail until it is back.
   */
  open(config: C, rules: StoreRules): Promise<OpenedStore | Refused>
}

/** Features that the engine has by itself. */
export interface StoreAbilities {
  /** Whether it has small rows under conditions: leases, marks, quotas. */
  readonly cells: boolean
  /** How precisely it expires rows by its own clock. */
  readonly ttl: 'ms' | 's' | 'none'
  /** Whether nodes learn of each other's writes at once. */
  readonly pubsub: boolean
}

export interface Inspected {
  /** Of the engine. */
  readonly version: string
  /** Tables and the like that have to be created first. */
  readonly missing: readonly string[]
}

/** The tables and the like that were missing. */
export type Created = { readonly created: readonly string[] }

export interface StoreSetup<C> {
  /** The statements or definitions by which an operator creates the tables of the store. */
  definition(config: C): string
  /** Creates missing tables, and changes no existing one. */
  create(config: C, clock: Clock): Promise<Created | Refused>
}

export interface StoreUrl {
  /** In lower case, without the colon. */
  readonly scheme: string
  /** The part between the colon and the `?`, not decoded. */
  readonly place: string
}

/** Values by key, as text. */
export type UrlKeys = Readonly<Record<string, string>>

export interface RefusedUrl {
  /** A sentence that has the URL as its subject. */
  readonly refused: string
  /** The URL that was probably meant. */
  readonly suggestion?: string
}

/** The settings of a store besides its own keys. */
export interface StoreRules {
  readonly clock: Clock
  /** The limit of a store in the memory of this process. */
  readonly memoryBytes: number
  /** Buckets are dropped this long after they were fetched; earlier only where room is needed. */
  readonly retentionMs: number
  /** The most buckets of one key; beyond it the oldest are evicted. */
  readonly maxBucketsPerShape: number
  /** From this age at fetch on a bucket counts as settled. Read at every write: a reload may change it. */
  readonly settledAgeMs: number
  /** How long one operation may take: requests do not wait longer, so that an engine need not either. */
  readonly timeoutMs: number
}

export interface OpenedStore {
  readonly panes: Store
  /** Small rows under conditions, where the engine has them. */
  readonly cells?: Cells
  /** A message to the operator about the way it was opened, as a sentence. */
  readonly notice?: string
  /** Closes both faces; closing again does nothing. */
  close(): Promise<void>
}

/** Why a store cannot be used: a value, because operators meet it. */
export interface Refused {
  /** A stable word for status and metrics. */
  readonly refused: string
  readonly detail: string
  readonly remedy: string
  readonly cause?: unknown
}

export interface StoreFinding {
  readonly status: 'ok' | 'warn' | 'fail'
  readonly sentence: string
  readonly remedy?: string
}

/** An engine's client is an optional dependency: users of the engine install it, in this version. */
export async function loadClient<T>(
  name: string,
  version: string,
  load: () => Promise<unknown>,
): Promise<T | Refused> {
  try {
    return (await load()) as T
  } catch (cause) {
    return {
      refused: 'not_installed',
      detail: `the package "${name}" is not installed, or has no binary for this platform`,
      remedy: `npm install ${name}@${version}`,
      cause,
    }
  }
}
