/**
 * The requests that dashboards send to Druid, captured from the clients themselves (`npm run test:clients -- --write`)
 * or, where a client is unavailable, written from its sources. Times are placeholders, so that a form can be sent for
 * other windows.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const clientNames = ['superset', 'turnilo', 'pydruid', 'grafadruid', 'metabase'] as const
export type ClientName = (typeof clientNames)[number]

export interface ClientForm {
  /** The chart or view that sends it. */
  readonly name: string
  /** The outcome of the second request for the same window, as in `Cache-Status`: `hit`, `bypass/limit`. */
  readonly again: string
  readonly path: string
  /** With placeholders for its times. */
  readonly body: string
}

/** The windows in which the forms were captured, and are repeated. They are five days long. */
export const captured = { from: Date.UTC(2026, 2, 6), to: Date.UTC(2026, 2, 11) }

export const fileOf = (client: ClientName): string => join(import.meta.dirname, `${client}.json`)

export const readForms = (client: ClientName): readonly ClientForm[] =>
  JSON.parse(readFileSync(fileOf(client), 'utf8')) as ClientForm[]

/** How clients write an instant. */
const spellings = {
  'sql.6': (at: number) => `${iso(at).slice(0, 23).replace('T', ' ')}000`,
  sql: (at: number) => iso(at).slice(0, 19).replace('T', ' '),
  'iso.3': (at: number) => iso(at),
  iso: (at: number) => `${iso(at).slice(0, 19)}Z`,
  hour: (at: number) => `${iso(at).slice(0, 13)}Z`,
  ms: (at: number) => String(at),
} as const
type Spelling = keyof typeof spellings

const iso = (at: number): string => new Date(at).toISOString()

const HOUR = 3_600_000
/** A more distant instant is no bound of a window: an origin, a time before all data. */
const NEAR_MS = 100 * 24 * HOUR
const written =
  /(\d{4}-\d\d-\d\d)([T ])(\d\d)(?::(\d\d:\d\d)(\.\d{3}(?:000)?)?)?(Z?)(?![\d:+])|(?<!\d)(177\d{10})(?!\d)/g

/** A request with placeholders for its times, in hours (or milliseconds) from the beginning of the captured window. */
export function withPlaceholders(body: string): string {
  return body.replace(written, (text) => {
    const at = /^\d+$/.test(text) ? Number(text) : Date.parse(instantOf(text))
    if (Math.abs(at - captured.from) > NEAR_MS) return text
    for (const [name, spell] of Object.entries(spellings)) {
      if (spell(at) === text) return `{${offsetOf(at)} ${name}}`
    }
    return text
  })
}

function offsetOf(at: number): string {
  const offset = at - captured.from
  return offset % HOUR === 0 ? `${offset / HOUR}h` : `${offset}ms`
}

const instantOf = (text: string): string => {
  const [date, time = ''] = text.replace('Z', '').split(/[T ]/)
  return `${date}T${time.length === 2 ? `${time}:00` : time.slice(0, 12)}Z`
}

/** The request for a window that begins so many hours after the captured one. */
export function bodyAt(form: ClientForm, hoursLater = 0): string {
  const from = captured.from + hoursLater * HOUR
  return form.body.replace(/\{(-?\d+)(h|ms) ([\w.]+)\}/g, (_, count: string, unit: string, name: Spelling) =>
    spellings[name](from + Number(count) * (unit === 'h' ? HOUR : 1)),
  )
}

/** Whether the answer is rows of time buckets, in whatever form of query. */
export function isTimeSeries({ path, body }: Pick<ClientForm, 'path' | 'body'>): boolean {
  const query = JSON.parse(body) as NativeParts
  if (path.includes('/sql')) return /\b(?:TIME_FLOOR|FLOOR|DATE_TRUNC)\s*\(/i.test(query.query!)
  if (!['timeseries', 'topN', 'groupBy'].includes(query.queryType!)) return false
  const dimensions = JSON.stringify([query.dimension, query.dimensions, query.virtualColumns])
  // The hour of the day is no time bucket.
  return query.granularity !== 'all' || /"__time".*yyyy|timestamp_floor/.test(dimensions)
}

interface NativeParts {
  readonly query?: string
  readonly queryType?: string
  readonly granularity?: unknown
  readonly dimension?: unknown
  readonly dimensions?: unknown
  readonly virtualColumns?: unknown
}
