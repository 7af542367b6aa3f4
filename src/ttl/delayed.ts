/** Policies for buckets that are computed from data after their end: their ages count from that data. */
import type { TtlPolicy } from './policy.ts'

/** The same policy, with every age `delayMs` less than it is given. */
export function delayed(policy: TtlPolicy, delayMs: number): TtlPolicy {
  const { plateaus } = policy
  return {
    ...policy,
    settledAgeMs: policy.settledAgeMs + delayMs,
    ttl: (ageMs) => policy.ttl(ageMs - delayMs),
    plateaus: plateaus && {
      endOf: (ageMs) => plateaus.endOf(ageMs - delayMs) + delayMs,
      lapseOf: plateaus.lapseOf,
    },
  }
}
