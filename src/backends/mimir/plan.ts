/** Mimir's additions to the planning of range queries: tenants, its engines, and their checks at each step. */
import { headerOf } from '../../core/headers.ts'
import { namedLike } from '../../core/name-pattern.ts'
import type { Flavour } from '../backend.ts'
import { isSince } from '../matrix/build-info.ts'
import { createCompatiblePlanner } from '../matrix/compatible.ts'
import type { Planner, RangeQuery } from '../matrix/plan.ts'
import type { IsQuestionHeader } from '../matrix/question-headers.ts'
import type { LateOptions } from '../matrix/settled-age.ts'

const selectsData = namedLike(['x-scope-orgid', 'x-mimir-*', 'x-read-consistency*', 'x-filter-queryables'])

/** Mimir refuses clients that do not accept JSON (406), and has a format of its own for clients that name it. */
export const isQuestionHeader: IsQuestionHeader = (name, value) =>
  selectsData(name) || (name === 'accept' && !isJsonAccepted(value))

const json = /(?:application\/json|application\/\*|\*\/\*)(?:[\s;,]|$)/

const isJsonAccepted = (accepted: string): boolean =>
  accepted === '' || (json.test(accepted) && !accepted.includes('protobuf'))

export const createPlanner = (options: LateOptions): Planner =>
  createCompatiblePlanner(options, { isQuestionHeader, isCheckedPerStep })

/** Its own engine does since it has these functions; the one of Prometheus, which a header can choose, later. */
function isCheckedPerStep({ request }: RangeQuery, flavour: Flavour | undefined): boolean {
  return headerOf(request.headers, 'x-mimir-force-prometheus-engine') === undefined && isSince(flavour, 3, 1)
}
