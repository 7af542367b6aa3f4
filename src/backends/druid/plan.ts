/** Which requests are queries of Druid, native or SQL, and how each lies on its grid. */
import type { EpochMs } from '../../core/clock.ts'
import type { Plan, WireRequest } from '../backend.ts'
import type { DruidOptions, DruidPlan, Span } from './druid-plan.ts'
import { createNativePlanner, type Layout } from './native.ts'
import { nativePath, sqlPath } from './paths.ts'
import type { Bypass } from './reasons.ts'
import { createSqlPlanner } from './sql.ts'
import { refuseWire, shapeWith } from './wire.ts'

export interface DruidQuery {
  readonly request: WireRequest
  /** Of a native query; SQL is read when the time is known that it may speak of. */
  readonly layout?: Layout
}

const nativePaths = [nativePath, `${nativePath}/`]
const sqlPaths = [sqlPath, `${sqlPath}/`]

export const isDruidQuery = (method: string, path: string): boolean =>
  method === 'POST' && (nativePaths.includes(path) || sqlPaths.includes(path))

export type Planner = ReturnType<typeof createPlanner>

export function createPlanner(options: DruidOptions) {
  const layOutNative = createNativePlanner(options)
  const planSql = createSqlPlanner(options)
  return {
    parse(request: WireRequest): DruidQuery | Bypass | undefined {
      if (!isDruidQuery(request.method, request.path)) return undefined
      if (sqlPaths.includes(request.path)) return { request }
      const layout = refuseWire(request) ?? layOutNative(request.body)
      return 'bypass' in layout ? layout : { request, layout }
    },
    plan({ request, layout }: DruidQuery, now: EpochMs): DruidPlan | Bypass {
      if (layout === undefined) return planSql(request, now)
      return { ...layout, shape: shapeWith(layout.shape, request), request }
    },
    over(plan: Plan, asked: readonly Span[], now: EpochMs): DruidPlan | Bypass {
      const { shape, request, layoutOver } = plan as DruidPlan
      const layout = layoutOver(asked, now)
      return 'bypass' in layout ? layout : { ...layout, shape, request, isAsSent: false }
    },
  }
}
