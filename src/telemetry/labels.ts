/** The closed lists that label values come from: no request can make a new time series. */
import { bypassReasons } from '../backends/kinds.ts'
import {
  errorReasons,
  missReasons,
  type Outcome,
  outcomes,
  refusalReasons,
  staleReasons,
} from '../core/decision.ts'

const reasonsOf: Record<Outcome, readonly string[]> = {
  hit: [''],
  partial: Object.keys(missReasons),
  miss: Object.keys(missReasons),
  stale: Object.keys(staleReasons),
  bypass: Object.keys(bypassReasons),
  refused: Object.keys(refusalReasons),
  error: Object.keys(errorReasons),
}

export interface OutcomeReason {
  readonly outcome: Outcome
  /** '' for a hit. */
  readonly reason: string
}

/** Every pair there can be. */
export const outcomeReasons: readonly OutcomeReason[] = outcomes.flatMap((outcome) =>
  reasonsOf[outcome].map((reason) => ({ outcome, reason })),
)

const pairIndex = new Map<string, Map<string, number>>(
  outcomes.map((outcome) => [outcome, new Map<string, number>()]),
)
for (const [i, { outcome, reason }] of outcomeReasons.entries()) pairIndex.get(outcome)!.set(reason, i)

const internalError = pairIndex.get('error')!.get('internal')!

/** The place of a pair in `outcomeReasons`; a pair that is in no list is a fault of ours. */
export const pairOf = (outcome: Outcome, reason: string | undefined): number =>
  pairIndex.get(outcome)?.get(reason ?? '') ?? internalError

const outcomeIndex: Record<Outcome, number> = Object.fromEntries(
  outcomes.map((outcome, i) => [outcome, i]),
) as Record<Outcome, number>

export const indexOfOutcome = (outcome: Outcome): number => outcomeIndex[outcome]

/** How a query to the database ended. */
export const originStatuses = ['2xx', '3xx', '4xx', '5xx', 'timeout', 'unreachable', 'abandoned'] as const
export type OriginStatus = (typeof originStatuses)[number]

export const indexOfStatus = (status: OriginStatus): number => originStatuses.indexOf(status)

export function statusClass(status: number): OriginStatus {
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  return status < 500 ? '4xx' : '5xx'
}

/**
 * How a request for an answer that is kept as a whole was answered. `revalidating`: no longer fresh, and fetched again in the background;
 * `collapsed`: with the answer to another request.
 */
export const objectStates = ['hit', 'revalidating', 'miss', 'collapsed', 'stale'] as const
export type ObjectLabel = (typeof objectStates)[number]

export const phases = ['plan', 'lookup', 'fetch', 'reply'] as const

/** The limits that the proxy takes tokens of. */
export const quotaLimits = ['requests', 'cost', 'points'] as const

/** Whether a node that shares a store was heard of lately. */
export const nodeStates = ['up', 'missing'] as const
export type NodeState = (typeof nodeStates)[number]

/** The ages from which the groups begin that staleness is measured in, in the order of `stalenessGroups`. */
export const ageGroups = ['0s', '2m', '10m', '1h', '6h', '24h'] as const

/** Purposes of queries that no client waited for, and how they ended. */
export const probeKinds = ['sample', 'sentinel', 'refresh'] as const
export const probeResults = ['same', 'changed', 'failed'] as const
