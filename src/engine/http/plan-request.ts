/** From a request to its plan, as every front of the engine does it: the proxy, the library and `explain`. */
import type { Backend, Bypass, ErrorAnswer, Flavour, Plan, WireRequest } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'

export interface PlanContext {
  readonly backend: Backend
  readonly now: EpochMs
  /** Returns the flavour of the database. It is called only for queries that this backend claims. */
  readonly flavour: () => Flavour
}

export function planRequest(context: PlanContext, wire: WireRequest): Plan | Bypass<string> {
  const { backend, now } = context
  try {
    const query = backend.parse(wire)
    if (query === undefined) return { bypass: 'not_a_range_query' }
    if (isBypass(query)) return query
    const flavour = context.flavour()
    if (!flavour.isKnown) return { bypass: 'unknown_flavour', detail: flavour.label }
    return backend.plan(query, now, flavour)
  } catch (error) {
    // A fault in the backend: the database may understand the query all the same.
    return { bypass: 'unparseable_query', detail: String(error) }
  }
}

export const isBypass = (value: unknown): value is Bypass<string> =>
  typeof value === 'object' && value !== null && 'bypass' in value

/** An error of our own, in the form that clients of the database understand. */
export const errorAnswerOf = ({ presentation }: Backend, status: number, message: string): ErrorAnswer =>
  presentation?.errorAnswer?.(status, message) ?? { contentType: 'text/plain', body: message }

/** Why there is no answer: the database failed, and nothing stored may be served instead. */
export function failureMessage({ reason, detail }: { reason: string; detail: string }): FailureMessage {
  const isLate = reason === 'database_timeout'
  const what = isLate ? 'did not answer in time' : 'cannot be reached'
  return {
    status: isLate ? 504 : 502,
    reason: isLate ? 'database_timeout' : 'database_unreachable',
    message: `windowpane: the database ${what} (${detail}), and no stored answer may be served instead`,
  }
}

export interface FailureMessage {
  readonly status: number
  readonly reason: 'database_timeout' | 'database_unreachable'
  readonly message: string
}
