/** A policy whose TTLs grow more slowly with age, for data that changes for longer than the policy assumes. */
import type { TtlPolicy } from './policy.ts'

/** The policy that reaches its cap at `settledAgeMs`. One that learns, or that reaches it later anyway, is left as it is. */
export function stretched(policy: TtlPolicy, settledAgeMs = 0): TtlPolicy {
  const before = policy.settledAgeMs
  if (policy.learns !== undefined || policy.plateaus !== undefined || before >= settledAgeMs) return policy
  // A policy with one TTL for all ages has nothing to stretch.
  const factor = before === 0 ? 1 : settledAgeMs / before
  return { ...policy, settledAgeMs, ttl: (ageMs) => policy.ttl(ageMs / factor) }
}
