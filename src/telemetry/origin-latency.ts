/** The latency of one database, and the time that the cache saves it. */
import { families } from './families.ts'
import { durationBounds, Histograms } from './histograms.ts'
import type { RequestRecord } from './record.ts'

/** The weight of one query in the moving average. */
const weight = 0.05

export class OriginLatency {
  /** Queries that were not sent, and the time that they would have taken. */
  readonly saved = { queries: 0, seconds: 0 }
  readonly #durations = new Histograms(durationBounds, 1)
  /** Moving average in seconds; undefined before the first response. */
  #average: number | undefined

  observe(ms: number): void {
    const seconds = ms / 1000
    this.#durations.observe(0, seconds)
    this.#average ??= seconds
    this.#average += weight * (seconds - this.#average)
  }

  /** Counts a request that sent no query of its own. */
  countSaved(record: RequestRecord): void {
    if (!isSaved(record)) return
    this.saved.queries++
    this.saved.seconds += this.#average ?? 0
  }

  durations(backend: string): string {
    return this.#durations.lines(families.originDuration, 0, [backend])
  }
}

/** Stale answers of an outage save nothing: the query was sent, and failed. */
function isSaved({ outcome, asked, isCollapsed, isForwarded, upstreamStatus }: RequestRecord): boolean {
  if (outcome === 'hit') return true
  if (isForwarded || asked > 0 || upstreamStatus !== undefined) return false
  return isCollapsed && (outcome === 'partial' || outcome === 'miss')
}
