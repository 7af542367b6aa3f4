/**
 * The same request for fewer buckets: every occurrence of start and end is replaced, and of parameters that the caller sets;
 * every other byte stays.
 */

import type { EpochMs } from '../../core/clock.ts'
import { type Grid, startOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import type { Plan, WireRequest } from '../backend.ts'
import { bodyText, replaceValues } from './form.ts'

export type Values = readonly (readonly [name: string, value: string])[]

/**
 * Returns the request whose answer holds exactly the instants of `interval`, which must not be empty. `set` are
 * parameters that it has besides, or another `end`; they are put into the URL too, because the client may not have sent them.
 */
export function narrow(
  plan: Pick<Plan, 'grid' | 'request'>,
  interval: Interval,
  set: Values = [],
): WireRequest {
  const { request, grid } = plan
  const values = new Map([...timesOf(grid, interval), ...set])
  const body = request.body.length === 0 ? request.body : replaceInBody(request.body, values)
  const search = replaceValues(request.search, values)
  const added = set.filter(([name]) => name !== 'end').map(([name, value]) => `${name}=${value}`)
  return { ...request, search: [...(search === '' ? [] : [search]), ...added].join('&'), body }
}

const timesOf = (grid: Grid, interval: Interval): Values => [
  ['start', printSeconds(startOf(grid, interval.from))],
  ['end', printSeconds(startOf(grid, interval.to - 1))],
]

const replaceInBody = (body: Uint8Array, values: ReadonlyMap<string, string>): Uint8Array =>
  Buffer.from(replaceValues(bodyText(body), values), 'latin1')

/** Seconds with as many decimals as needed. Prometheus rounds its input to ms, so it reads exactly `ms` back. */
export function printSeconds(ms: EpochMs): string {
  const seconds = Math.floor(ms / 1000)
  const rest = ms - seconds * 1000
  return rest === 0 ? `${seconds}` : `${seconds}.${String(rest).padStart(3, '0').replace(/0+$/, '')}`
}
