/**
 * All that the rest of the program knows about one kind of database before, and without, loading its backend: a kind owns
 * its configuration keys, its bypass reasons, its doctor checks and its reader for `windowpane explain`.
 */
import type { Section } from '../config/definition.ts'
import type { ReasonWords } from '../core/decision.ts'
import type { Finding } from '../core/finding.ts'
import type { Backend, FlavourProbe } from './backend.ts'
import type { SegmentSettings } from './segment-watch.ts'
import type { EndpointTerms } from './whole-answers.ts'

/** `Reason`: the bypass reasons that this kind declares. `Own`: the values of its own configuration keys. */
export interface DatabaseKind<Reason extends string = string, Own = unknown> {
  /** As it is called in sentences. */
  readonly label: string
  /** Which of them are cached, for sentences. */
  readonly known: string
  /** The ports by which an unreachable database is classified. The default kind has none. */
  readonly ports: readonly number[]
  readonly flavour: FlavourProbe
  /** The probe of a server that the configuration declares to be of this kind; undefined where it does not. */
  assumedFlavour?(own: Own): FlavourProbe | undefined
  /** Its own keys below `backends.<name>`; the keys of every kind are in config/schema.ts. */
  readonly section: Section<Own>
  /** Its bypass reasons, besides the common ones. Two kinds share a word only by one declaration. */
  readonly reasons: Readonly<Record<Reason, ReasonWords>>
  /** Whose answers are cached as a whole; none where it is not given. */
  readonly endpoints?: Readonly<Record<string, EndpointTerms>>
  /** The configuration keys of the exceptions that its backend supports; none by default. */
  readonly exceptions?: readonly ExceptionKey[]
  readonly explain: ExplainReader
  /** Sentences for people: what to change so that clients come here. */
  clientLines(here: ClientAddress): readonly string[]
  /** The URL of the database in an address as clients of this kind alone write it. */
  urlIn?(text: string): string | undefined
  /** A shape of this database as people recognise it; undefined where it is none. */
  shapeText(shape: string): string | undefined
  /** Whether a server that is not known to be of this kind speaks its API. Never rejects. */
  isSpokenBy(database: ConnectedDatabase): Promise<boolean>
  /** For `windowpane doctor`: the checks that only this kind has. */
  examine(subject: Subject<Own>, database: ConnectedDatabase): Promise<readonly Finding[]>
  load(): Promise<BackendFactory<Own>>
}

/** `align` is for point grids and `edges` for cell grids (`Backend.over`), `instant.within` for `WholePlan.at`. */
export type ExceptionKey = 'align' | 'edges' | 'instant.within'

export interface BackendFactory<Own = unknown> {
  create(options: BackendOptions, own: Own): CreatedBackend
}

export interface CreatedBackend {
  readonly backend: Backend
  /** Where its segments are to be watched. */
  readonly segments?: SegmentSettings
  /** Where the configuration declares a server as of this kind: it is only compared at first. */
  readonly probation?: ProbationSettings
}

export interface ProbationSettings {
  /** Of the kind that the server is assumed to be of. */
  readonly label: string
  /** How many answers that would have come from the cache must have equalled the server's own. */
  readonly comparisons: number
}

/** Options that every backend gets, besides its own keys. */
export interface BackendOptions {
  /** Data of this age no longer changes. Read for every request: a reload may change it. */
  readonly settledAgeMs: number
  /** The most buckets that one request may touch. */
  readonly maxBuckets: number
}

export interface ClientAddress {
  readonly url: string
  /** ` of main` where there are several databases, otherwise nothing. */
  readonly which: string
}

/** Reads the input of `windowpane explain`. */
export interface ExplainReader {
  /** The path of a query of which only the body is known. */
  queryPath(body: string): string
  /** The request body that a text stands for; undefined where it is not a whole query of this database. */
  read(text: string): QueryBody | undefined
  /** Where queries name no time range: the request body for a query and a range. */
  overRange?(query: string, range: QueryRange): QueryBody
}

export interface QueryBody {
  readonly body: string
  readonly contentType: string
}

/** In seconds. */
export interface QueryRange {
  readonly start: string
  readonly end: string
  readonly step: string
}

/** A configured database that `windowpane doctor` looks at. */
export interface Subject<Own = unknown> {
  /** Its name in the configuration. */
  readonly name: string
  readonly own: Own
  readonly upstreamTimeoutMs: number
  readonly policy: {
    readonly name: string
    ttl(ageMs: number): number
    /** Its TTLs are learned. */
    readonly isLearned: boolean
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
  /** Sends JSON. */
  post(path: string, value: unknown): Promise<DatabaseAnswer>
  close(): Promise<void>
}
