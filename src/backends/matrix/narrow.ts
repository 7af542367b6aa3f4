/** The same request for fewer buckets: every occurrence of start and end is replaced, every other byte stays. */

import type { EpochMs } from '../../core/clock.ts'
import { type Grid, startOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import type { Plan, WireRequest } from '../backend.ts'
import { bodyText, replaceValues } from './form.ts'

/** Returns the request whose answer holds exactly the instants of `interval`, which must not be empty. */
export function narrow(plan: Pick<Plan, 'grid' | 'request'>, interval: Interval): WireRequest {
  const { request } = plan
  const times = timesOf(plan.grid, interval)
  const body = request.body.length === 0 ? request.body : replaceInBody(request.body, times)
  return { ...request, search: replaceValues(request.search, times), body }
}

function timesOf(grid: Grid, interval: Interval): ReadonlyMap<string, string> {
  return new Map([
    ['start', printSeconds(startOf(grid, interval.from))],
    ['end', printSeconds(startOf(grid, interval.to - 1))],
  ])
}

const replaceInBody = (body: Uint8Array, times: ReadonlyMap<string, string>): Uint8Array =>
  Buffer.from(replaceValues(bodyText(body), times), 'latin1')

/** Seconds with as many decimals as needed. Prometheus rounds what it reads to ms, so it reads exactly `ms` back. */
function printSeconds(ms: EpochMs): string {
  const seconds = Math.floor(ms / 1000)
  const rest = ms - seconds * 1000
  return rest === 0 ? `${seconds}` : `${seconds}.${String(rest).padStart(3, '0').replace(/0+$/, '')}`
}
