/** One TTL for every age. */
import type { TtlPolicy } from './policy.ts'

export function fixed(ttlMs: number, settledAgeMs = 0): TtlPolicy {
  return { name: 'fixed', isMonotone: true, capMs: ttlMs, settledAgeMs, ttl: () => ttlMs }
}
