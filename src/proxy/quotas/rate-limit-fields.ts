/**
 * The response fields `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers. Nothing else knows their form:
 * they are made for each response, and are never stored with a body.
 */
import type { Limit, LimitStatus } from '../../limits/limit.ts'

/** Names and values in turn; empty where nothing is limited. */
export function rateLimitFields(limits: readonly LimitStatus[], retryAfterSeconds?: number): string[] {
  if (limits.length === 0) return []
  let left = ''
  let policy = ''
  for (const status of limits) {
    const separator = left === '' ? '' : ', '
    left += separator + leftOf(status, retryAfterSeconds)
    policy += separator + policyOf(status.limit)
  }
  return ['RateLimit', left, 'RateLimit-Policy', policy]
}

/** `r` is never below 0, whatever is owed; `t` is when there will be more, and is left out where the bucket is full. */
function leftOf({ limit, available, isExceeded }: LimitStatus, retryAfterSeconds?: number): string {
  const text = `"${limit.name}";r=${Math.max(0, available)}`
  if (isExceeded) return retryAfterSeconds === undefined ? text : `${text};t=${retryAfterSeconds}`
  return available >= limit.capacity ? text : `${text};t=${secondsPerToken(limit)}`
}

const secondsPerToken = ({ refillAmount, refillPeriodSeconds }: Limit): number =>
  Math.ceil(refillPeriodSeconds / refillAmount)

const policies = new WeakMap<Limit, string>()

/** `w` is the time in which an empty bucket fills up. The unit of every limit but `requests` is named after it. */
function policyOf(limit: Limit): string {
  const known = policies.get(limit)
  if (known !== undefined) return known
  const { name, capacity, refillAmount, refillPeriodSeconds } = limit
  const unit = name === 'requests' ? '' : `;qu="${name}"`
  const text = `"${name}";q=${capacity}${unit};w=${Math.ceil((capacity * refillPeriodSeconds) / refillAmount)}`
  policies.set(limit, text)
  return text
}
