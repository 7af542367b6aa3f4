/** How the requests to one backend are limited. A reload replaces the terms. */
import type { Limit } from '../../limits/limit.ts'

/** Whose tokens a request takes; the name of a header is in lower case. */
export type EntitySource = 'identity' | 'address' | { readonly header: string }

export interface QuotaTerms {
  readonly entity: EntitySource
  readonly onUnavailable: 'allow' | 'block'
  readonly isDryRun: boolean
  readonly servesStale: boolean
  /** See `bucketTtlSeconds`. */
  readonly multiplier: number
  /** Tokens of `cost` and `points` that a request takes which is forwarded. */
  readonly forwardedCost: number
  /** The configured limits of every entity at this backend, where it has its own. */
  readonly resource?: readonly Limit[] | undefined
  /** The configured limits of every entity. */
  readonly system?: readonly Limit[] | undefined
}

/** The limits that the proxy takes tokens of. Also the values of a metric label. */
export const proxyLimits = ['requests', 'cost', 'points'] as const
export type ProxyLimit = (typeof proxyLimits)[number]
