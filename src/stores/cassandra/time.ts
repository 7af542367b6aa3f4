/** Clocks and lifetimes as Cassandra takes them. */
import type { EpochMs } from '../../core/clock.ts'

/** Write times are in microseconds; the value of a row holds its exact clock. */
export const microsOf = (clock: EpochMs): bigint => BigInt(Math.round(clock * 1000))

export const msOf = (micros: bigint): EpochMs => Number(micros) / 1000

/** Servers that were upgraded from version 4, and Scylla, refuse rows that would expire later. */
const lastExpiry: EpochMs = Date.UTC(2038, 0, 19, 3, 14, 6)
const longestTtlSeconds = 20 * 365 * 86_400

/**
 * The TTL of a row that must live until `until`; undefined where that has passed. The server rounds the moment of the
 * write down to a second: a row lives up to one second less than its TTL.
 */
export function ttlSeconds(until: EpochMs, now: EpochMs): number | undefined {
  if (until <= now) return undefined
  const last = now < lastExpiry ? (lastExpiry - now) / 1000 - 1 : longestTtlSeconds
  return Math.max(1, Math.min(Math.ceil((until - now) / 1000) + 1, Math.floor(last), longestTtlSeconds))
}
