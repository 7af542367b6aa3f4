/** STUB, never committed. */
import type { Bypass, WireRequest } from '../backend.ts'
import type { DruidPlan } from './druid-plan.ts'
export function createSqlPlanner(_o: object): {
  plan(request: WireRequest, now: number): DruidPlan | Bypass
} {
  return { plan: () => ({ bypass: 'no_time_grouping' }) }
}
