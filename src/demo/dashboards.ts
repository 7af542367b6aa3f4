/** The dashboards of the demo's viewers, and Grafana's conversion of a panel into a range query. */
import { formatDuration } from '../config/units.ts'
import type { EpochMs } from '../core/clock.ts'
import { scrapeMs } from './arrivals.ts'
import type { DemoQuery } from './database.ts'

export interface Panel {
  /** With `$rate` where Grafana puts $__rate_interval. */
  readonly query: string
  /** About its width in pixels. */
  readonly maxDataPoints: number
}

export interface Window {
  readonly from: EpochMs
  readonly to: EpochMs
}

const half = 480
const full = 960

const panel = (query: string, maxDataPoints = half): Panel => ({ query, maxDataPoints })

const shop = [
  panel('sum by (job) (rate(http_requests_total[$rate]))', full),
  panel('sum by (job) (rate(http_requests_total{code="500"}[$rate]))'),
  panel('sum by (code) (rate(http_requests_total[$rate]))'),
  panel('queue_depth'),
  panel('count by (job) (up)'),
]

const checkout = [
  panel('sum by (code) (rate(http_requests_total{job="checkout"}[$rate]))', full),
  panel('sum by (instance) (rate(http_requests_total{job="checkout"}[$rate]))'),
  panel('process_resident_memory_bytes{job="checkout"}'),
  panel('queue_depth{job="checkout"}'),
]

const pods = [
  panel('sum by (instance) (rate(http_requests_total[$rate]))', full),
  panel('process_resident_memory_bytes', full),
  panel('max by (job) (process_resident_memory_bytes)'),
  panel('sum by (instance) (increase(http_requests_total{code="500"}[$rate]))'),
  panel('up'),
  panel('count by (job) (up)'),
]

const building = [
  panel('room_temperature_celsius', full),
  panel('avg by (floor) (room_temperature_celsius)'),
  panel('max(room_temperature_celsius)'),
  panel('room_temperature_celsius{room="server"}'),
]

export const dashboards: readonly (readonly Panel[])[] = [shop, checkout, pods, building]

/** Steps that Grafana rounds to, from the smallest scrape interval up. */
const steps: readonly (readonly [upTo: number, stepMs: number])[] = [
  [17_500, 15_000],
  [25_000, 20_000],
  [45_000, 30_000],
  [90_000, 60_000],
  [210_000, 120_000],
  [450_000, 300_000],
  [750_000, 600_000],
  [Number.POSITIVE_INFINITY, 900_000],
]

const stepFor = (lengthMs: number, maxDataPoints: number): number =>
  Math.max(scrapeMs, steps.find(([upTo]) => lengthMs / maxDataPoints <= upTo)![1])

/** Both ends are floored to the step in the viewer's zone. */
export function questionOf({ query, maxDataPoints }: Panel, { from, to }: Window, zoneMs = 0): DemoQuery {
  const stepMs = stepFor(to - from, maxDataPoints)
  const floor = (at: EpochMs): EpochMs => Math.floor((at + zoneMs) / stepMs) * stepMs - zoneMs
  const rateMs = Math.max(stepMs + scrapeMs, 4 * scrapeMs)
  return { query: query.replace('$rate', formatDuration(rateMs)), start: floor(from), end: floor(to), stepMs }
}
