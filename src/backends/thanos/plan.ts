/**
 * Thanos' additions to the planning of range queries: parameters of its own, tenants, and the deduplication of
 * replicas.
 */
import { namedLike } from '../../core/name-pattern.ts'
import type { Flavour } from '../backend.ts'
import { createCompatiblePlanner } from '../matrix/compatible.ts'
import { firstValue } from '../matrix/form.ts'
import type { Planner, RangeQuery } from '../matrix/plan.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import type { LateOptions } from '../matrix/settled-age.ts'
import { picksReplicas } from './flavour.ts'

export const isQuestionHeader = namedLike(['thanos-*'])

/** Only complete answers are stored, and those are the same whether the client would take others. */
const partial = 'partial_response'

export interface ThanosOptions extends LateOptions {
  /** Replicas are taken to be equal; by default they are not. */
  readonly replicas?: boolean
}

const exceptions = ['assume.replicas']

export const createPlanner = (options: ThanosOptions): Planner =>
  createCompatiblePlanner(options, {
    isQuestionHeader,
    otherTerms: [partial],
    exceptionsFor(query, _examined, flavour) {
      const refusal = refuse(query)
      if (refusal !== undefined || !isDeduplicated(query, flavour)) return refusal
      if (options.replicas === true) return exceptions
      const why = 'which replica a sample is taken from depends on where a request begins'
      return { bypass: 'depends_on_range', detail: `${why}; see assume.replicas` }
    },
  })

function refuse({ question: { pairs } }: RangeQuery): PromqlBypass | undefined {
  if (firstValue(pairs, 'analyze') !== undefined) return { bypass: 'stats', detail: 'analyze' }
  if (readBoolean(firstValue(pairs, partial) ?? 'true') === undefined)
    return { bypass: 'invalid_parameter', detail: partial }
  return undefined
}

function isDeduplicated({ question: { pairs } }: RangeQuery, flavour: Flavour | undefined): boolean {
  const picks = flavour?.traits?.includes(picksReplicas) === true || pairs.includes('replicaLabels[]')
  return picks && readBoolean(firstValue(pairs, 'dedup') ?? 'true') !== false
}

/** As Go reads it; undefined where it does not. */
function readBoolean(text: string): boolean | undefined {
  if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true
  return /^(?:0|f|F|false|FALSE|False)$/.test(text) ? false : undefined
}
