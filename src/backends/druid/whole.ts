/** The requests to Druid that are cached as a whole: read-only ones that cannot be cut into buckets of time. */
import type { WholeAnswers } from '../whole-answers.ts'
import { rememberNative, rememberSql } from './body-memo.ts'
import type { DruidOptions } from './druid-plan.ts'
import { nativePath } from './paths.ts'
import { isDruidQuery, type Planner } from './plan.ts'
import { isWholeAnswer } from './whole-ending.ts'
import { endpoints } from './whole-endpoints.ts'
import { readWholeNative } from './whole-native.ts'
import type { DruidWholePlan } from './whole-reading.ts'
import { readWholeSql } from './whole-sql.ts'
import { refuseWire, shapeWith } from './wire.ts'

export function wholeAnswers(options: DruidOptions, planner: Planner): WholeAnswers {
  const readNative = rememberNative((text) => readWholeNative(text, options.ignoredContext))
  const readSql = rememberSql((kind, text) => readWholeSql(kind, text, options))
  return {
    endpoints,
    claims: isDruidQuery,
    plan(request, now): DruidWholePlan | undefined {
      const query = planner.parse(request)
      if (query === undefined) return undefined
      const ranged = 'bypass' in query ? query : planner.plan(query, now)
      // A query that can be cut is never cached as a whole, and a query with too many buckets to be cut is too large
      // for that, too.
      if (!('bypass' in ranged)) return undefined
      const isNative = request.path.replace(/\/$/, '') === nativePath
      if (isNative && ranged.bypass === 'too_many_buckets') return undefined
      const reading = isNative ? (refuseWire(request) ?? readNative(request.body)) : readSql(request)
      if ('bypass' in reading) return undefined
      return { ...reading, text: shapeWith(reading.text, request), request }
    },
    isComplete: (body, plan, response) => isWholeAnswer((plan as DruidWholePlan).ending, body, response),
  }
}
