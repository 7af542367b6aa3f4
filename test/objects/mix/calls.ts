/** Grafana's requests for a dashboard at an instant, from its Prometheus data source. */
import { MINUTE, SECOND } from '../../data/dataset.ts'
import type { Ask } from '../../proxy/client.ts'
import type { Dashboard, Variable } from './dashboards.ts'

/** As Prometheus counts them (`handler` of prometheus_http_requests_total). */
export const handlers = {
  range: ['/api/v1/query_range'],
  instant: ['/api/v1/query'],
  exemplars: ['/api/v1/query_exemplars'],
  variables: ['/api/v1/labels', '/api/v1/label/:name/values', '/api/v1/series', '/api/v1/metadata'],
} as const

export type CallKind = keyof typeof handlers
export const kinds = Object.keys(handlers) as CallKind[]

export interface Call extends Ask {
  readonly kind: CallKind
  readonly path: string
  /** Of an instant query. */
  readonly time?: number
}

export const firstLoad = (dashboard: Dashboard, now: number): Call[] => callsOf(dashboard, now, () => true)
export const refresh = (dashboard: Dashboard, now: number): Call[] =>
  callsOf(dashboard, now, ({ refreshes }) => refreshes)

function callsOf(dashboard: Dashboard, now: number, isAsked: (variable: Variable) => boolean): Call[] {
  const { method, ranges, instants, exemplars, variables } = dashboard
  const window = { from: now - dashboard.windowMs, to: now }
  return [
    ...variables.filter(isAsked).map((variable) => variableCall(variable, window)),
    ...ranges.map(({ query, pixels }) => {
      const stepMs = stepOf(dashboard.windowMs, pixels)
      const parameters = { query, ...aligned(window, stepMs), step: seconds(stepMs) }
      return formCall('range', method, parameters)
    }),
    ...instants.map((query) => instantCall({ method, query, time: now })),
    ...exemplars.map((query) => {
      const stepMs = stepOf(dashboard.windowMs, 700)
      return formCall('exemplars', method, { query, ...aligned(window, stepMs) })
    }),
  ]
}

/** Evaluated at the end of the window, to the millisecond. */
export function instantCall({ method, query, time }: InstantQuestion): Call {
  return { ...formCall('instant', method, { query, time: seconds(time) }), time }
}

interface InstantQuestion {
  readonly method: Dashboard['method']
  readonly query: string
  readonly time: number
}

interface Window {
  readonly from: number
  readonly to: number
}

/** A point per pixel at most, in steps that people read, and not finer than the scrape interval. */
function stepOf(windowMs: number, pixels: number): number {
  const raw = windowMs / pixels
  const rounded = steps.find(([below]) => raw < below * SECOND)?.[1] ?? 120
  return Math.max(15, rounded) * SECOND
}

const steps = [
  [12.5, 10],
  [17.5, 15],
  [25, 20],
  [45, 30],
  [90, 60],
] as const

const floorTo = (time: number, stepMs: number): number => Math.floor(time / stepMs) * stepMs

const aligned = ({ from, to }: Window, stepMs: number) => ({
  start: seconds(floorTo(from, stepMs)),
  end: seconds(floorTo(to, stepMs)),
})

const minutes = ({ from, to }: Window): string =>
  `start=${seconds(floorTo(from, MINUTE))}&end=${seconds(Math.ceil(to / MINUTE) * MINUTE)}`

const seconds = (ms: number): string => String(ms / 1000)

/** Lists are requested between whole minutes, so that browsers can cache them. */
function variableCall({ of, metric, label }: Variable, window: Window): Call {
  const match = `match%5B%5D=${metric}&${minutes(window)}`
  const path = {
    'label-values': `/api/v1/label/${label}/values?${match}`,
    series: `/api/v1/series?${match}`,
    labels: `/api/v1/labels?${minutes(window)}`,
    metadata: '/api/v1/metadata',
  }[of]
  return { kind: 'variables', path }
}

function formCall(
  kind: Exclude<CallKind, 'variables'>,
  method: Dashboard['method'],
  parameters: Record<string, string>,
): Call {
  const form = new URLSearchParams(parameters).toString()
  const [path] = handlers[kind]
  if (method === 'GET') return { kind, path: `${path}?${form}` }
  return { kind, path, method, headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: form }
}
