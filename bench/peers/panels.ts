/** The requests: panels of four sizes and one expensive query, over samples written once. */
import { systemClock } from '../../src/core/clock.ts'
import { remoteWrite, type TimeSeries } from '../../test/servers/remote-write.ts'

export const step = 60
/** Days ago: everything is settled, nothing expires while it is measured, and nothing is too old for Trickster to keep. */
const begin = Math.floor(systemClock.now() / 3_600_000) * 3600 - 5 * 86_400
const windows = 16

export interface Panel {
  readonly name: string
  readonly query: string
  readonly points: number
}

export const small: Panel = { name: 'small', query: 'bench_gauge{instance="host-1000"}', points: 60 }
export const medium: Panel = { name: 'medium', query: 'bench_gauge{group=~"g[01]"}', points: 240 }
export const large: Panel = { name: 'large', query: 'bench_gauge', points: 720 }
export const wide: Panel = { name: 'wide', query: 'bench_wide', points: 10 }
export const expensive: Panel = {
  name: 'expensive',
  query: 'sum by (group) (avg_over_time(bench_gauge[1h]))',
  points: 720,
}

export interface Window {
  readonly start: number
  readonly end: number
}

export const windowOf = ({ points }: Panel, shift: number, phase = 0): Window => {
  const start = begin + 3600 + phase + shift * step
  return { start, end: start + (points - 1) * step }
}

export function pathOf(panel: Panel, { start, end }: Window): string {
  return `/api/v1/query_range?query=${encodeURIComponent(panel.query)}&start=${start}&end=${end}&step=${step}`
}

/** The shifted windows that are requested in rotation, so that no two consecutive requests are equal. */
export const pathsOf = (panel: Panel): string[] =>
  Array.from({ length: windows }, (_, shift) => pathOf(panel, windowOf(panel, shift)))

const gauges = 100
const widths = 5000
/** An hour before the first window, the longest window, and room to slide. */
const gaugePoints = 60 + 720 + 4000
const widePoints = 60 + 10 + windows

/** In order of time over all series: Prometheus refuses samples that are much older than its newest one. */
export async function fill(url: string): Promise<void> {
  for (let from = 0; from < gaugePoints; from += perWrite) {
    const columns = [...columnsOf('bench_gauge', gauges, { from, to: gaugePoints })]
    if (from < widePoints) columns.push(...columnsOf('bench_wide', widths, { from, to: widePoints }))
    await remoteWrite(url, columns)
  }
}

const perWrite = 20

function columnsOf(name: string, series: number, points: { from: number; to: number }): TimeSeries[] {
  const count = Math.min(perWrite, points.to - points.from)
  return Array.from({ length: series }, (_, column) => ({
    labels: { __name__: name, instance: `host-${1000 + column}`, group: `g${column % 10}` },
    samples: Array.from({ length: count }, (_, i) => {
      const bucket = points.from + i
      const value = Math.round(1e6 * (50 + 50 * Math.sin(bucket / 9 + column))) / 1e6
      return { t: (begin + bucket * step) * 1000, value }
    }),
  }))
}
