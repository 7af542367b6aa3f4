/** M3's additions to the planning of range queries: headers and an engine of its own, and its last step. */
import { startOf } from '../../core/grid.ts'
import { headerOf } from '../../core/headers.ts'
import { namedLike } from '../../core/name-pattern.ts'
import { createCompatiblePlanner } from '../matrix/compatible.ts'
import { firstValue } from '../matrix/form.ts'
import type { PlannedBuckets, Planner, RangeQuery, Split } from '../matrix/plan.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import type { LateOptions } from '../matrix/settled-age.ts'

export const isQuestionHeader = namedLike(['m3-*'])

export const createPlanner = (options: LateOptions): Planner =>
  createCompatiblePlanner(options, { isQuestionHeader, exceptionsFor, split })

function exceptionsFor({ request, question: { pairs, stepMs } }: RangeQuery): PromqlBypass | undefined {
  const engine = firstValue(pairs, 'engine') ?? headerOf(request.headers, 'm3-engine')
  if (engine !== undefined && engine !== 'prometheus')
    return { bypass: 'other_engine', detail: engine.slice(0, 60) }
  return stepMs > 1 ? undefined : { bypass: 'invalid_parameter', detail: 'a step of one millisecond' }
}

/**
 * M3 does not read a sample that lies exactly at the end of a request. So a step at the end may have another value than the same
 * step inside of a longer request: it is a part of a bucket, which only requests with the same end can share.
 */
function split({ grid, window, asked }: PlannedBuckets): Split | undefined {
  const last = { from: window.to - 1, to: window.to }
  if (startOf(grid, last.from) !== asked?.[0]?.to) return undefined
  const whole = window.from === last.from ? [] : [{ from: window.from, to: last.from }]
  return { whole, edges: { buckets: [last], parts: `${last.from}` } }
}
