/** How long an answer about a bucket of a given age may be believed. Pure: ages in, durations out. */

export interface TtlPolicy {
  readonly name: string
  /**
   * The TTL in milliseconds of a bucket that was `ageMs` old when it was fetched, counted from its end. A bucket
   * that was not over yet has a negative age and gets the floor. Never decreases with age: lookups rely on it.
   */
  ttl(ageMs: number): number
  /** Buckets at least this old when fetched are settled: their TTL has reached its cap. */
  readonly settledAgeMs: number
  /** The largest TTL this policy gives. */
  readonly capMs: number
}
