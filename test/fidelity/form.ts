/** A query form: a query and the expectations about its answer. */
import type { BypassReason } from '../../src/backends/kinds.ts'

/** Name and value as sent; order and repetition matter to some forms. */
export type Param = readonly [name: string, value: string]

/** Major and minor. */
export type Version = readonly [major: number, minor: number]

/** A fixed range for forms whose point is the range itself; `points` counts from the first instant of the data. */
interface FixedRange {
  readonly stepMs: number
  readonly points: number
}

export interface Form {
  readonly query: string
  /** May be answered from buckets. Then it is never answered with `bypass`. */
  readonly eligible: boolean
  /** Forms that are not eligible: the reason that must be given. */
  readonly bypass?: BypassReason
  /** From this Prometheus on the form is eligible; the other marks concern older ones. */
  readonly eligibleSince?: Version
  /** Prometheus answers with an error over the whole of the data. Windowpane may forward it or query in parts. */
  readonly error?: true
  /** The answer is empty in every window. */
  readonly empty?: true
  readonly range?: FixedRange
  /** Parameters of the form's own, after query, start, end and step. */
  readonly extra?: readonly Param[]
  /** Last change to the parameters: leaves some out, or spoils them. */
  readonly edit?: (params: readonly Param[]) => readonly Param[]
}

export const eligible = (...queries: string[]): Form[] => queries.map((query) => ({ query, eligible: true }))

export const empty = (...queries: string[]): Form[] =>
  queries.map((query) => ({ query, eligible: true, empty: true }))

export const bypassed = (bypass: BypassReason, ...queries: string[]): Form[] =>
  queries.map((query) => ({ query, eligible: false, bypass }))

/** Where only the bytes are asserted: whether to answer from buckets is left to the proxy. */
export const eitherWay = (...queries: string[]): Form[] =>
  queries.map((query) => ({ query, eligible: false }))

export const eligibleSince = (since: Version, ...older: Form[]): Form[] =>
  older.map((form) => ({ ...form, eligibleSince: since }))

export const failing = (...queries: string[]): Form[] =>
  queries.map((query) => ({ query, eligible: false, error: true }))

/** `template` with every `$` replaced by each of the words in turn. */
export const each = (words: readonly string[], template: string): string[] =>
  words.map((word) => template.replaceAll('$', () => word))
