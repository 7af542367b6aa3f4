/** What the rest of the program knows about one kind of database before, and without, loading its backend. */
import type { ReasonWords } from '../core/decision.ts'
import type { Backend, FlavourProbe } from './backend.ts'

/** `Own`: the bypass reasons that this kind declares. */
export interface DatabaseKind<Own extends string = string> {
  /** As it is called in sentences. */
  readonly label: string
  /** Which of them are cached, for sentences. */
  readonly known: string
  /** By these it is taken for one where it cannot be asked. Of the kind that any other is taken for: none. */
  readonly ports: readonly number[]
  readonly flavour: FlavourProbe
  /** Sentences for people: what to change so that clients come here. */
  clientLines(here: ClientAddress): readonly string[]
  /** The path of a query of which only the body is known. */
  queryPath(body: string): string
  /** A shape of this database as people recognise it; undefined where it is none. */
  shapeText(shape: string): string | undefined
  /** Why its queries are bypassed, besides what any database may say. Two kinds share a word only by one declaration. */
  readonly reasons: Readonly<Record<Own, ReasonWords>>
  load(): Promise<(options: BackendOptions) => Backend>
}

export interface ClientAddress {
  readonly url: string
  /** ` of main` where there are several databases, otherwise nothing. */
  readonly which: string
}

/** Every backend takes of it what concerns it. */
export interface BackendOptions {
  /** Data of this age no longer changes. */
  readonly settledAgeMs: number
  /** The most buckets that one request may touch. */
  readonly maxBuckets: number
  /** Context keys that the operator knows to change nothing. */
  readonly ignoredContext: readonly string[]
  /** The zone of SQL that names none. */
  readonly sqlTimeZone: string
}
