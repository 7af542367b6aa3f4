/** A form of query: how it is built for some spans of time, and the expectations about its answer. */
import type { BypassReason } from '../../../src/backends/kinds.ts'
import type { Random } from '../../fidelity/random.ts'
import type { Expectation } from '../../fidelity/tally.ts'
import type { Span } from '../../fidelity/walks.ts'

export type DataSet = 'tiny' | 'wiki' | 'years'

/** A request as it is sent. */
export interface Ask {
  readonly path: string
  readonly body: string
}

/** The permitted difference of two numbers where the order of additions is Druid's own affair, by their type. */
export type Inexact = 'double' | 'float'

export interface Form extends Expectation {
  readonly name: string
  readonly kind: 'native' | 'sql'
  /** Whose times windows lie in. */
  readonly dataSet: DataSet
  /** A granularity as native queries have it: where windows begin and end. */
  readonly buckets: unknown
  /** The answer is empty in every window. */
  readonly empty?: true
  readonly inexact?: Inexact
  /** With Druid's own caches on, numbers depend on their content. */
  readonly variesWithCaches?: true
  /** A bucket has one span only: the form cannot have several. */
  readonly isSingle?: true
  /** `spans` are not empty; they may overlap, and come in any order. */
  ask(spans: readonly Span[], random: Random): Ask
}

/** The attributes of a form besides its query. */
export interface Marks {
  readonly bypass?: BypassReason
  readonly error?: true
  readonly empty?: true
  readonly inexact?: Inexact
  readonly variesWithCaches?: true
  readonly isSingle?: true
  /** Only the bytes are asserted: whether to answer from buckets is left to the proxy. */
  readonly eitherWay?: true
}

export const eligibility = ({ bypass, error, eitherWay, ...marks }: Marks) => ({
  ...marks,
  eligible: bypass === undefined && error === undefined && eitherWay === undefined,
  ...(bypass && { bypass }),
  ...(error && { error }),
})
