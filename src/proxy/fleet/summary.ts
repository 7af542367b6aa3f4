/**
 * A node's summary for the others: figures since its start, modes, the findings of shadow mode, and the most requested
 * shapes. Written as JSON of at most 6 KiB, so that a thousand nodes can be read at once. Readers are tolerant: unknown
 * members are ignored, and missing ones count as nothing, because nodes of two releases run side by side during an
 * upgrade.
 */
import { type Calendar, readCalendar } from '../../core/calendar.ts'
import type { EpochMs } from '../../core/clock.ts'
import { type Fields, fieldsIn, isObject } from '../../core/json-object.ts'
import { shorten } from '../../core/text.ts'
import type { Figures, Mismatch } from '../../engine/shadow/log.ts'
import type { MetricTotals } from '../../telemetry/metrics.ts'
import type { ShapeRow } from '../../telemetry/shapes.ts'

export type Counts = Readonly<Record<string, number>>

export interface NodeSummary {
  readonly at: EpochMs
  readonly memory: { readonly used: number; readonly limit: number }
  readonly totals: MetricTotals
  readonly backends: readonly BackendSummary[]
  /** The most requested first. */
  readonly shapes: readonly ShapeRow[]
}

export interface BackendSummary {
  readonly name: string
  readonly mode: string
  /** The mode was set while running. */
  readonly isOverridden: boolean
  /** Only where something was compared, or could not be. */
  readonly shadow?: ShadowSummary
}

export interface ShadowSummary {
  readonly figures: Figures
  readonly examples: readonly ShadowExample[]
}

/** A mismatch without its buckets and bodies: these stay with the node that has seen it. */
export type ShadowExample = Pick<
  Mismatch,
  'id' | 'at' | 'backend' | 'text' | 'window' | 'cause' | 'isExplained' | 'sentence'
>

export const maxSummaryBytes = 6 * 1024
export const maxSummaryShapes = 24
const maxBackends = 16
const maxExamples = 2
const maxTextChars = 160

/** Bounded texts and lists; members that still do not fit are left out, shapes first. */
export function encodeSummary(summary: NodeSummary): Buffer {
  let shapes = summary.shapes.slice(0, maxSummaryShapes).map(shortened)
  let backends = summary.backends.slice(0, maxBackends).map(withFewExamples)
  for (;;) {
    const bytes = Buffer.from(JSON.stringify({ ...summary, backends, shapes }))
    if (bytes.length <= maxSummaryBytes || shapes.length + backends.length === 0) return bytes
    if (shapes.length > 0) shapes = shapes.slice(0, shapes.length >> 1)
    else backends = backends.slice(0, backends.length >> 1)
  }
}

const shortened = (row: ShapeRow): ShapeRow => ({
  ...row,
  shape: shorten(row.shape, maxTextChars),
  totalSeconds: rounded(row.totalSeconds),
  savedSeconds: rounded(row.savedSeconds),
  askedSeconds: rounded(row.askedSeconds),
})

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000

function withFewExamples({ shadow, ...backend }: BackendSummary): BackendSummary {
  if (shadow === undefined) return backend
  // Differences that staleness does not explain are the interesting ones.
  const first = shadow.examples.toSorted((a, b) => Number(a.isExplained) - Number(b.isExplained))
  const examples = first
    .slice(0, maxExamples)
    .map((each) => ({ ...each, text: shorten(each.text, maxTextChars) }))
  return { ...backend, shadow: { ...shadow, examples } }
}

/** Undefined where the row is no summary. */
export function summaryIn(value: Uint8Array): NodeSummary | undefined {
  const given = fieldsIn(value)
  if (typeof given['at'] !== 'number') return undefined
  return {
    at: numberOf(given['at']),
    memory: numbersOf(fieldsOf(given['memory']), 'used', 'limit'),
    totals: totalsIn(fieldsOf(given['totals'])),
    backends: listOf(given['backends']).map(backendIn),
    shapes: listOf(given['shapes']).map(shapeIn),
  }
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

const numberOf = (value: unknown): number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0

/** Of these members. */
const numbersOf = <Name extends string>(given: Fields, ...names: readonly Name[]): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, numberOf(given[name])])) as Record<Name, number>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : [])

const countsOf = (value: unknown): Counts =>
  Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, count]) => [name, numberOf(count)]))

function totalsIn(given: Fields): MetricTotals {
  const { requests, buckets, durations } = given
  return {
    requests: countsOf(requests) as MetricTotals['requests'],
    buckets: numbersOf(fieldsOf(buckets), 'cache', 'origin'),
    ...numbersOf(given, 'queries', 'failedQueries'),
    durations: Array.isArray(durations) ? durations.map(numberOf) : [],
  }
}

function backendIn({ name, mode, isOverridden, shadow }: Fields): BackendSummary {
  const backend = { name: textOf(name), mode: textOf(mode), isOverridden: isOverridden === true }
  if (shadow === undefined) return backend
  const { figures, examples } = fieldsOf(shadow)
  return {
    ...backend,
    shadow: { figures: figuresIn(fieldsOf(figures)), examples: listOf(examples).map(exampleIn) },
  }
}

function figuresIn(given: Fields): Figures {
  return {
    ...numbersOf(given, 'since', 'comparisons', 'equal', 'explained', 'unexplained'),
    skipped: countsOf(given['skipped']),
    wouldBe: numbersOf(fieldsOf(given['wouldBe']), 'hit', 'partial', 'miss'),
    causes: countsOf(given['causes']),
  }
}

function exampleIn(given: Fields): ShadowExample {
  const window = fieldsOf(given['window'])
  const { step } = window
  return {
    id: textOf(given['id']),
    at: numberOf(given['at']),
    backend: textOf(given['backend']),
    text: textOf(given['text']),
    window: { ...numbersOf(window, 'from', 'to'), step: typeof step === 'string' ? step : numberOf(step) },
    // A release that is newer than this one may know more causes.
    cause: textOf(given['cause']) as ShadowExample['cause'],
    isExplained: given['isExplained'] === true,
    sentence: textOf(given['sentence']),
  }
}

function shapeIn(given: Fields): ShapeRow {
  const { key, calendar, notCached } = given
  return {
    shape: textOf(given['shape']),
    key: typeof key === 'string' ? key : undefined,
    backend: textOf(given['backend']),
    ...numbersOf(given, 'stepMs', 'phaseMs'),
    calendar: readCalendar(calendar) as Calendar | undefined,
    ...numbersOf(given, 'since', 'lastAt', 'count'),
    outcomes: countsOf(given['outcomes']),
    ...numbersOf(given, 'bytes', 'totalSeconds', 'savedSeconds', 'asked', 'askedSeconds'),
    notCached: typeof notCached === 'string' ? notCached : undefined,
  }
}
