/** Which requests are queries of Druid, native or SQL, and how each lies on its grid. */
import type { Backend, WireRequest } from '../backend.ts'
import type { DruidOptions, DruidPlan } from './druid-plan.ts'
import { createNativePlanner, type Layout } from './native.ts'
import { nativePath, sqlPath } from './paths.ts'
import type { Bypass, DruidReason } from './reasons.ts'
import { createSqlPlanner } from './sql.ts'
import { refuseWire, shapeWith } from './wire.ts'

export interface DruidQuery {
  readonly request: WireRequest
  /** Of a native query; SQL is read when the time is known that it may speak of. */
  readonly layout?: Layout
}

export interface Planner {
  parse(request: WireRequest): DruidQuery | Bypass | undefined
  plan: (...args: Parameters<Backend<DruidQuery>['plan']>) => DruidPlan | Bypass
  over: NonNullable<Backend<DruidQuery, DruidReason>['over']>
}

const nativePaths = [nativePath, `${nativePath}/`]
const sqlPaths = [sqlPath, `${sqlPath}/`]

export const isDruidQuery = (method: string, path: string): boolean =>
  method === 'POST' && (nativePaths.includes(path) || sqlPaths.includes(path))

export function createPlanner(options: DruidOptions): Planner {
  const layOutNative = createNativePlanner(options)
  const planSql = createSqlPlanner(options)
  return {
    parse(request) {
      if (!isDruidQuery(request.method, request.path)) return undefined
      if (sqlPaths.includes(request.path)) return { request }
      const layout = refuseWire(request) ?? layOutNative(request.body)
      return 'bypass' in layout ? layout : { request, layout }
    },
    plan({ request, layout }, now) {
      if (layout === undefined) return planSql(request, now)
      return { ...layout, shape: shapeWith(layout.shape, request), request }
    },
    over(plan, asked, now) {
      const { shape, request, layOver } = plan as DruidPlan
      const layout = layOver(asked, now)
      return 'bypass' in layout ? layout : { ...layout, shape, request, isAsSent: false }
    },
  }
}
