/** Forms of SQL queries: a text with `{time}` where the bounds go, and how its answer is to be written. */
import type { Span } from '../../fidelity/walks.ts'
import {
  anyOf,
  type BoundStyle,
  boundStyles,
  type InstantStyle,
  instantStyles,
  type Parameter,
  type Piece,
  type Session,
} from './bounds.ts'
import { type DataSet, eligibility, type Form, type Marks } from './form.ts'

export interface SqlMarks extends Marks {
  readonly dataSet?: DataSet
  /** Where windows begin and end. */
  readonly buckets?: unknown
  readonly bounds?: BoundStyle
  /** Ways to write instants, of which each request takes one; by default the ways that need nothing else. */
  readonly instants?: readonly InstantStyle[]
  /** The other members of the body. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly context?: Readonly<Record<string, unknown>>
  /** For the other question marks of the text. */
  readonly parameters?: readonly Parameter[]
}

const usualInstants: readonly InstantStyle[] = ['timestamp', 'text', 'isoText', 'millis']

export function sql(query: string, marks: SqlMarks = {}): Form {
  const { dataSet = 'wiki', buckets = 'hour', bounds, instants, body, context, parameters, ...others } = marks
  const spoken = { ...body, context, parameters, bounds, instants, isSingle: others.isSingle }
  const zone = typeof context?.['sqlTimeZone'] === 'string' ? context['sqlTimeZone'] : 'UTC'
  return {
    name: `${query} ${JSON.stringify(spoken)}`,
    kind: 'sql',
    dataSet,
    buckets,
    ...eligibility(others),
    ask(spans, random) {
      const time = condition(spans, {
        bounds: bounds ?? 'halfOpen',
        instant: random.pick(instants ?? usualInstants),
        isSingle: others.isSingle,
        session: { zone, random },
      })
      const written = splice(query, time, parameters ?? [])
      const volatile = random.chance(0.15) ? { sqlQueryId: `viewer-${random.int(0, 1e9)}` } : {}
      const members = {
        query: written.text,
        ...body,
        ...((context !== undefined || random.chance(0.3)) && { context: { ...context, ...volatile } }),
        ...(written.parameters.length > 0 && { parameters: written.parameters }),
      }
      const ordered = random.chance(0.2) ? random.shuffle(Object.entries(members)) : Object.entries(members)
      return { path: '/druid/v2/sql', body: JSON.stringify(Object.fromEntries(ordered)) }
    },
  }
}

interface Condition {
  readonly bounds: BoundStyle
  readonly instant: InstantStyle
  readonly isSingle: true | undefined
  readonly session: Session
}

function condition(spans: readonly Span[], { bounds, instant, isSingle, session }: Condition): Piece {
  const write = (at: number) => instantStyles[instant](at, session)
  return isSingle === true ? boundStyles[bounds](spans[0]!, write) : anyOf(spans, boundStyles[bounds], write)
}

/** Puts the condition in its place, and its parameters between the others. */
function splice(query: string, time: Piece, parameters: readonly Parameter[]): Piece {
  const [head = '', ...tail] = query.split('{time}')
  const before = head.split('?').length - 1
  return {
    text: [head, ...tail].join(time.text),
    parameters: [
      ...parameters.slice(0, before),
      ...(tail.length > 0 ? time.parameters : []),
      ...parameters.slice(before),
    ],
  }
}

/** With one span only, the usual way to write it. */
export const sqlOne = (query: string, marks: SqlMarks = {}): Form => sql(query, { isSingle: true, ...marks })
