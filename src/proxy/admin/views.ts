/** How records, shapes and explanations are written as JSON: ISO instants, units in the names. */
import { type Outcome, outcomes } from '../../core/decision.ts'
import { iso } from '../../core/text.ts'
import type {
  ExplainedInterval,
  ExplainedMark,
  ExplainedRun,
  Explanation,
} from '../../engine/explain/explain.ts'
import { type StoreState, storeStates } from '../../stores/figures.ts'
import { outcomeReasons } from '../../telemetry/labels.ts'
import { countBuckets, type RequestRecord, runsOf } from '../../telemetry/record.ts'
import type { Recorded, RecordFilter } from '../../telemetry/recorder.ts'
import type { ShapeRow } from '../../telemetry/shapes.ts'
import type { NamedStore } from '../../telemetry/store-families.ts'
import type { StalenessReport } from '../../ttl/staleness-report.ts'

const ms = (value: number): number => Math.round(value * 1000) / 1000

export function viewOfRecord({ id, record }: Recorded): object {
  const { backend, method, outcome, reason, detail, shape, key, status, upstreamStatus, bytes } = record
  return {
    id,
    at: iso(record.at),
    ...{ backend, method, outcome, reason, detail, shape, key, status, upstreamStatus, bytes },
    ...(record.stepMs > 0 && viewOfWindow(record)),
    endpoint: record.endpoint,
    ageSeconds: record.ageSeconds,
    ttlSeconds: record.ttlSeconds,
    collapsed: record.isCollapsed,
    stored: record.isStored,
    unstored: record.unstored,
    ms: timingsOf(record),
  }
}

function viewOfWindow(record: RequestRecord): object {
  const { from, to, stepMs, calendar, buckets, asked } = record
  const runs = runsOf(record).map((run) => ({
    source: run.source,
    from: iso(run.from),
    to: iso(run.to),
    buckets: countBuckets(record, run.from, run.to),
  }))
  return { window: { from: iso(from), to: iso(to), stepMs, calendar, buckets }, asked, runs }
}

function timingsOf({ planMs, lookupMs, fetchMs, totalMs }: RequestRecord): object {
  const reply = Math.max(0, totalMs - planMs - lookupMs - fetchMs)
  return {
    plan: ms(planMs),
    lookup: ms(lookupMs),
    fetch: ms(fetchMs),
    reply: ms(reply),
    total: ms(totalMs),
  }
}

/** A row of `/-/shapes`. */
export type ShapeView = ReturnType<typeof viewOfShape>

export const viewOfShape = (row: ShapeRow) => ({
  ...row,
  since: iso(row.since),
  lastAt: iso(row.lastAt),
  totalSeconds: ms(row.totalSeconds),
  savedSeconds: ms(row.savedSeconds),
  askedSeconds: ms(row.askedSeconds),
})

export const viewOfExplanation = (explanation: Explanation): object => ({
  ...explanation,
  now: iso(explanation.now),
  ...(explanation.window && { window: viewOfInterval(explanation.window) }),
  ...(explanation.runs && { runs: explanation.runs.map(viewOfRun) }),
  ...(explanation.edges && { edges: explanation.edges.map(viewOfInterval) }),
  ...(explanation.marks && { marks: explanation.marks.map(viewOfMark) }),
  ...(explanation.gap && { gap: viewOfInterval(explanation.gap) }),
  ...(explanation.joined && {
    joined: explanation.joined.map((flight) => ({
      ...viewOfInterval(flight),
      startedAt: iso(flight.startedAt),
    })),
  }),
  ...(explanation.asked && { asked: viewOfInterval(explanation.asked) }),
  ...(explanation.ttls && { ttls: explanation.ttls.map(viewOfInterval) }),
})

const viewOfInterval = <T extends ExplainedInterval>(interval: T): object => ({
  ...interval,
  from: iso(interval.from),
  to: iso(interval.to),
})

const viewOfRun = (run: ExplainedRun): object => ({
  ...viewOfInterval(run),
  ...(run.mark && { mark: { ...run.mark, at: iso(run.mark.at) } }),
})

const viewOfMark = (mark: ExplainedMark): object => ({ ...viewOfInterval(mark), at: iso(mark.at) })

/** A problem is a sentence in `detail`, also where a store only has a word for it. */
export function viewOfStore({ name, engine, health, ...figures }: NamedStore) {
  const { state = 'ok', trouble, since, detail = sentenceOf(state) } = health ?? {}
  const more = {
    ...(trouble !== undefined && { trouble }),
    ...(since !== undefined && { since: iso(since) }),
  }
  return { name, engine, state, detail, ...more, ...figures }
}

/** In seconds; `null` for no bound, and where the samples are inconclusive. */
export const viewOfStaleness = ({ budget, isKept, groups }: StalenessReport): object => ({
  budget,
  isKept: isKept ?? null,
  groups: groups.map(({ fromMs, toMs, ttlMs, boundBy, ...measured }) => ({
    ageFromS: Number.isFinite(fromMs) ? fromMs / 1000 : null,
    ageToS: Number.isFinite(toMs) ? toMs / 1000 : null,
    ...measured,
    ttlS: ttlMs / 1000,
    boundBy,
  })),
})

function sentenceOf(state: StoreState): string {
  const text = storeStates[state]
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}

export interface ListQuery {
  readonly filter: RecordFilter
  readonly limit: number
  readonly after: number
}

const reasons: ReadonlySet<string> = new Set(outcomeReasons.map(({ reason }) => reason))

/** `?outcome=miss,partial&reason=…&shape=…&backend=…&minMs=…&limit=…&after=…`, or its mistake. */
export function readListQuery(parameters: URLSearchParams): ListQuery | { readonly mistake: string } {
  const listOf = (name: string): string[] | undefined => parameters.get(name)?.split(',')
  const [chosen, why] = [listOf('outcome'), listOf('reason')]
  const stranger = chosen?.find((name) => !outcomes.includes(name as Outcome))
  if (stranger !== undefined) return { mistake: `outcome "${stranger}" is none of ${outcomes.join(', ')}` }
  const oddReason = why?.find((name) => !reasons.has(name))
  if (oddReason !== undefined) return { mistake: `there is no reason "${oddReason}"` }
  const [minMs, limit, after] = ['minMs', 'limit', 'after'].map((name) => readNumber(parameters.get(name)))
  if (minMs === 'odd' || limit === 'odd' || after === 'odd') {
    return { mistake: 'minMs, limit and after are numbers of 0 or more' }
  }
  const [shape, backend] = [parameters.get('shape'), parameters.get('backend')]
  const filter: RecordFilter = {
    ...(chosen !== undefined && { outcomes: new Set(chosen as Outcome[]) }),
    ...(why !== undefined && { reasons: new Set(why) }),
    ...(shape !== null && { shape }),
    ...(backend !== null && { backend }),
    ...(minMs !== undefined && { minMs }),
  }
  return { filter, limit: limit ?? 100, after: after ?? 0 }
}

function readNumber(text: string | null): number | undefined | 'odd' {
  if (text === null) return undefined
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : 'odd'
}
