/** STUB, never committed. */
import { gridThrough } from '../../core/grid.ts'

const steps: Record<string, number> = { second: 1e3, minute: 6e4, five_minute: 3e5, hour: 36e5, day: 864e5 }
export function gridOf(g: unknown, _range: unknown) {
  if (typeof g === 'string') {
    const step = steps[g.toLowerCase()]
    if (step !== undefined) return { grid: gridThrough('cell', step, 0), zone: 'UTC' }
    return { bypass: 'no_time_grouping' as const }
  }
  const o = g as { type?: string; duration?: unknown; period?: string; origin?: string }
  if (o.type === 'duration')
    return { grid: gridThrough('cell', Number(o.duration), o.origin ? Date.parse(o.origin) : 0), zone: 'UTC' }
  if (o.type === 'period' && o.period === 'PT1H') return { grid: gridThrough('cell', 36e5, 0), zone: 'UTC' }
  return { bypass: 'irregular_granularity' as const }
}
