/** The counters of one database, in flat arrays. */
import { wholeEndpoints } from '../backends/kinds.ts'
import { type Outcome, outcomes, unstoredReasons } from '../core/decision.ts'
import { type VerifyResult, verifyResults } from '../engine/shadow/log.ts'
import type { Sample } from './exposition.ts'
import { families } from './families.ts'
import { durationBounds, Histograms } from './histograms.ts'
import {
  indexOfOutcome,
  indexOfStatus,
  type ObjectLabel,
  type OriginStatus,
  objectStates,
  originStatuses,
  outcomeReasons,
  pairOf,
  statusClass,
} from './labels.ts'
import { OriginLatency } from './origin-latency.ts'
import { bucketsOf, type RequestRecord } from './record.ts'

const isAnswered = (status: OriginStatus): boolean => status.endsWith('xx')
const failedStatuses: readonly OriginStatus[] = ['5xx', 'timeout', 'unreachable']

export class BackendFigures {
  readonly name: string
  readonly latency = new OriginLatency()
  readonly #requests = new Float64Array(outcomeReasons.length)
  readonly #durations = new Histograms(durationBounds, outcomes.length)
  /** From the cache, from the database. */
  readonly #buckets = new Float64Array(2)
  readonly #origin = new Float64Array(originStatuses.length)
  readonly #unstored = new Float64Array(unstoredReasons.length)
  /** By endpoint, then by state. */
  readonly #objects = new Float64Array(wholeEndpoints.length * objectStates.length)
  readonly #verified = new Float64Array(verifyResults.length)

  constructor(name: string) {
    this.name = name
  }

  observe(record: RequestRecord): void {
    this.#requests[pairOf(record.outcome, record.reason)]!++
    this.#durations.observe(indexOfOutcome(record.outcome), record.totalMs / 1000)
    this.#buckets[0]! += bucketsOf(record, 'cache')
    this.#buckets[1]! += bucketsOf(record, 'origin')
    if (record.endpoint !== undefined) this.#countObject(record, record.endpoint)
    this.latency.countSaved(record)
    if (record.isForwarded) this.countOrigin(forwardStatus(record), record.fetchMs)
    if (record.unstored !== undefined) this.#unstored[unstoredReasons.indexOf(record.unstored)]!++
  }

  #countObject(record: RequestRecord, endpoint: string): void {
    const state = objectState(record)
    const place = wholeEndpoints.indexOf(endpoint)
    if (state !== undefined && place >= 0)
      this.#objects[place * objectStates.length + objectStates.indexOf(state)]!++
  }

  countOrigin(status: OriginStatus, durationMs: number): void {
    this.#origin[indexOfStatus(status)]!++
    if (isAnswered(status)) this.latency.observe(durationMs)
  }

  countVerified(result: VerifyResult): void {
    this.#verified[verifyResults.indexOf(result)]!++
  }

  addTo(totals: Record<Outcome, number>): void {
    for (const [i, { outcome }] of outcomeReasons.entries()) totals[outcome] += this.#requests[i]!
  }

  /** From the cache, from the database. */
  get bucketCounts(): Readonly<Float64Array> {
    return this.#buckets
  }

  get queries(): number {
    return this.#origin.reduce((a, b) => a + b)
  }

  /** Queries that ended with a 5xx, a timeout or no connection. */
  get failedQueries(): number {
    return failedStatuses.reduce((sum, status) => sum + this.#origin[indexOfStatus(status)]!, 0)
  }

  /** Adds the number of requests per bound of `durationBounds`, whatever their outcome. */
  addDurations(counts: number[]): void {
    for (let row = 0; row < outcomes.length; row++) this.#durations.addTo(counts, row)
  }

  requests(): readonly Sample[] {
    return outcomeReasons.map(({ outcome, reason }, i) => [[this.name, outcome, reason], this.#requests[i]!])
  }

  durations(): string {
    return outcomes
      .map((outcome, i) => this.#durations.lines(families.duration, i, [this.name, outcome]))
      .join('')
  }

  buckets(): readonly Sample[] {
    return this.#samples(['cache', 'origin'], this.#buckets)
  }

  unstored(): readonly Sample[] {
    return this.#samples(unstoredReasons, this.#unstored)
  }

  verified(): readonly Sample[] {
    return this.#samples(verifyResults, this.#verified)
  }

  origin(): readonly Sample[] {
    return this.#samples(originStatuses, this.#origin)
  }

  /** Series without requests are exposed, too: a counter that begins above 0 has no rate. */
  objects(): readonly Sample[] {
    const labels = wholeEndpoints.flatMap((endpoint) => objectStates.map((state) => [endpoint, state]))
    return labels.map((values, i) => [[this.name, ...values], this.#objects[i]!])
  }

  /** One sample for each value of the label that follows the backend's. */
  #samples(values: readonly string[], counts: Float64Array): readonly Sample[] {
    return values.map((value, i) => [[this.name, value], counts[i]!])
  }
}

/** Undefined where the response neither came from the cache nor was stored. */
function objectState({ outcome, isCollapsed, ttlSeconds = 0 }: RequestRecord): ObjectLabel | undefined {
  if (outcome === 'hit') return ttlSeconds < 0 ? 'revalidating' : 'hit'
  if (outcome === 'miss') return isCollapsed ? 'collapsed' : 'miss'
  return outcome === 'stale' ? 'stale' : undefined
}

function forwardStatus({ upstreamStatus, reason }: RequestRecord): OriginStatus {
  if (upstreamStatus !== undefined) return statusClass(upstreamStatus)
  if (reason === 'client_gone') return 'abandoned'
  return reason === 'database_timeout' ? 'timeout' : 'unreachable'
}
