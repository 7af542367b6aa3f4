/** The answer to a request that its quota does not permit: RFC 9457 problem details, as text for every kind of client. */
import type { RefusalReason } from '../../core/decision.ts'
import type { Refusal, RefusalCause } from '../../limits/limit.ts'
import { rateLimitFields } from './rate-limit-fields.ts'

export interface RefusalAnswer {
  readonly status: number
  readonly reason: RefusalReason
  readonly headers: string[]
  readonly body: string
}

const problemTypes = 'https://iana.org/assignments/http-problem-types'

const exceeded = {
  status: 429,
  type: 'quota-exceeded',
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
} as const

const wordings = {
  exceeded: { ...exceeded, reason: 'over_quota' },
  never: { ...exceeded, reason: 'quota_never' },
  unavailable: {
    status: 503,
    reason: 'quota_unavailable',
    type: 'temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
  },
} as const satisfies Record<RefusalCause, object>

/** The names of the limits that the request exceeds. */
export const exceededLimits = ({ limits }: Refusal): string[] =>
  limits.filter(({ isExceeded }) => isExceeded).map(({ limit }) => limit.name)

export function refusalAnswer(refusal: Refusal): RefusalAnswer {
  const { status, reason, type, title } = wordings[refusal.cause]
  const names = exceededLimits(refusal)
  const retryAfter = retryAfterOf(refusal)
  const body = JSON.stringify({
    type: `${problemTypes}#${type}`,
    title,
    status,
    detail: detailOf(refusal, names, retryAfter),
    'violated-policies': names,
  })
  const headers = [
    ...['Content-Type', 'application/problem+json'],
    ...(retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]),
    ...rateLimitFields(refusal.limits, retryAfter),
  ]
  return { status, reason, headers, body }
}

/** Whole seconds, rounded up: earlier would be refused again. */
function retryAfterOf({ cause, retryAfterSeconds }: Refusal): number | undefined {
  if (cause === 'never') return undefined
  return Math.max(1, Math.ceil(retryAfterSeconds ?? 1))
}

function detailOf({ cause }: Refusal, names: readonly string[], retryAfter: number | undefined): string {
  const limits = `the limit${names.length === 1 ? '' : 's'} ${names.join(', ')}`
  if (cause === 'unavailable') return 'windowpane: the store that counts quotas does not answer'
  if (cause === 'never')
    return `windowpane: the request costs more than ${limits} can ever hold; request less`
  return `windowpane: ${limits} of this client is used up; try again in ${retryAfter} s`
}
