/** The table of `windowpane top`. */
import { calendarText, readCalendar } from '../core/calendar.ts'
import type { Outcome } from '../core/decision.ts'
import type { ShapeView } from '../proxy/admin/views.ts'
import type { Lenient } from './admin-client.ts'
import type { ProxyStatus } from './proxy-identity.ts'
import { shapeText } from './shape-text.ts'
import {
  bytesText,
  counted,
  fitted,
  numbers,
  oneLine,
  painter,
  percent,
  secondsText,
  type TextStyle,
  tableLines,
  texts,
} from './text.ts'

/** A calendar of another version of the proxy may be unknown here. */
export type TopShape = Lenient<
  Omit<ShapeView, 'calendar'> & { readonly calendar: unknown },
  'shape' | 'backend' | 'stepMs' | 'count' | 'outcomes' | 'bytes' | 'savedSeconds' | 'asked' | 'askedSeconds'
>

export interface TopPicture {
  readonly by: Order
  /** The only one that is shown. */
  readonly node?: string | undefined
  readonly status: ProxyStatus
  readonly shapes: readonly TopShape[]
}

const columns = [
  ...numbers('requests', 'hit', 'partial', 'miss', 'other', 'saved', 'bytes'),
  ...texts('not cached', 'shape'),
]
const askedColumns = [...numbers('asked', 'took', 'of requests'), ...texts('why', 'shape')]

/** At most so many rows of the table; lines fit the terminal. */
export function topLines(picture: TopPicture, style: TextStyle, mostRows: number): string[] {
  const { by, shapes } = picture
  const shown = (by === 'asked' ? shapes.filter(({ asked }) => asked > 0) : shapes).slice(0, mostRows)
  const rows = shown.map(by === 'asked' ? askedRow : shapeRow)
  const [head = '', ...lines] = fitted(tableLines(by === 'asked' ? askedColumns : columns, rows), style)
  return [
    ...fitted([summaryOf(picture), ...fleetLines(picture)], style),
    orders[by].title,
    '',
    painter(style)(head, 'bold'),
    ...lines,
    ...(shown.length === 0 ? ['no requests yet'] : []),
  ]
}

/** The title of each order, and the member of a row that it sorts by. */
export const orders = {
  requests: { title: 'Most requests first', member: 'count' },
  seconds: { title: 'Most time saved first', member: 'savedSeconds' },
  bytes: { title: 'Largest answers, taken together, first', member: 'bytes' },
  asked: { title: 'Load that still reaches the database, longest first', member: 'askedSeconds' },
} as const

export type Order = keyof typeof orders

/** Nothing is shown for a single process, the usual case. */
function fleetLines({ node, status: { fleet } }: Pick<TopPicture, 'node' | 'status'>): string[] {
  if (node !== undefined) return [`node ${oneLine(node)} only`]
  if (fleet === undefined) return []
  const missing = fleet.missing === 0 ? '' : `, ${fleet.missing} missing`
  if (fleet.state === 'unreachable') return [oneLine(fleet.detail ?? 'the shared store does not answer')]
  return fleet.up > 1 || fleet.missing > 0 ? [`${counted(fleet.up, 'node')} as one${missing}`] : []
}

function summaryOf({ status: { version, uptimeSeconds = 0, memory }, shapes }: TopPicture): string {
  const total = (name: Outcome): number => shapes.reduce((sum, row) => sum + (row.outcomes[name] ?? 0), 0)
  const requests = shapes.reduce((sum, row) => sum + row.count, 0)
  const anyHit = requests === 0 ? 0 : (total('hit') + total('partial') + total('stale')) / requests
  const saved = shapes.reduce((sum, row) => sum + row.savedSeconds, 0)
  return [
    `windowpane ${oneLine(version)}, up ${secondsText(uptimeSeconds)}`,
    `${counted(requests, 'request')} of ${counted(shapes.length, 'shape')}`,
    `any hit ${percent(anyHit)}`,
    `saved ${secondsText(saved)}`,
    ...(memory === undefined ? [] : [`memory ${bytesText(memory.used)} of ${bytesText(memory.limit)}`]),
  ].join(' · ')
}

function shapeRow(row: TopShape): string[] {
  const { hit = 0, partial = 0, miss = 0 } = row.outcomes
  return [
    String(row.count),
    ...[hit, partial, miss, row.count - hit - partial - miss].map((count) => shareOf(count, row.count)),
    row.savedSeconds === 0 ? '' : secondsText(row.savedSeconds),
    bytesText(row.bytes),
    row.notCached ?? '',
    stepAnd(row),
  ]
}

function askedRow(row: TopShape): string[] {
  const { asked, askedSeconds, count, notCached } = row
  const why = notCached ?? (row.outcomes['miss'] === undefined ? 'newest buckets' : 'new or expired')
  return [String(asked), secondsText(askedSeconds), shareOf(asked, count), why, stepAnd(row)]
}

const shareOf = (count: number, of: number): string =>
  count === 0 ? '' : `${Math.round((100 * count) / of)}%`

const stepAnd = ({ shape, stepMs, calendar }: TopShape): string =>
  `${stepMs > 0 ? `@${stepText(stepMs, calendar)} ` : ''}${shapeText(shape)}`

function stepText(stepMs: number, calendar: unknown): string {
  const known = readCalendar(calendar)
  return known === undefined ? `${stepMs / 1000}s` : calendarText(known)
}
