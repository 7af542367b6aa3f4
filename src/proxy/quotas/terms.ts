/** How the requests to one backend are limited. A reload replaces the terms. */
import type { BaseLimits } from '../../limits/registry.ts'
import type { quotaLimits } from '../../telemetry/labels.ts'

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
  /** The limits of the configuration, of all backends. */
  readonly base: BaseLimits
}

/** The limits that the proxy takes tokens of. */
export type ProxyLimit = (typeof quotaLimits)[number]
