/**
 * Whole responses, for answers that cannot be cut into buckets: the words and the seam. One body per key, regenerated under
 * a lease, served stale within bounds. A reader decides freshness itself, from `generatedAt` and the terms.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { VouchedSpan } from '../../core/witness.ts'
import type { MaybePromise } from '../../stores/store.ts'

/** How long an object may be used. All but `retentionSeconds` count from the moment at which it stops being fresh. */
export interface ObjectTerms {
  readonly revalidateSeconds: number
  /** It is served at once, and regenerated in the background. */
  readonly staleWhileRevalidateSeconds?: number
  /** It is served where regenerating fails. */
  readonly staleIfErrorSeconds?: number
  /** For garbage collection, and for rollback. Counts from `generatedAt`. 7 days by default. */
  readonly retentionSeconds?: number
}

export interface ObjectKey {
  /** Two tenants never share an object. */
  readonly tenant: string
  /** Hashed before it is stored. */
  readonly key: string
  /** The object can be invalidated by any of them. */
  readonly tags?: readonly string[]
}

/**
 * The result of a render. Statuses from 200 to 299 are stored. Others are served and not stored; instead of 500, 502,
 * 503 and 504 a stale object is served where the terms allow it.
 */
export interface Rendered {
  readonly body: Uint8Array
  readonly status?: number
  readonly headers?: HeaderList
  /**
   * False: it is served only to the request that rendered it. True: it is stored although it is no success (below 500).
   */
  readonly isStorable?: boolean
  /** Override the terms of `get`, where the response itself names terms. */
  readonly terms?: ObjectTerms
}

/**
 * Regenerates an object. It must not resolve before the body is complete, nor depend on one client: others may wait for
 * it. The body belongs to the cache from then on, and must not be written to.
 */
export type Render = () => Promise<Rendered | Uint8Array | string>

/** `miss`: this caller regenerated it. `wait-hit`: it waited while another did. `stale`: it is not fresh, and within bounds. */
export type ObjectState = 'hit' | 'miss' | 'wait-hit' | 'stale'

export interface ObjectAnswer {
  readonly body: Uint8Array
  readonly state: ObjectState
  /** Taken before the render began. */
  readonly generatedAt: EpochMs
  readonly etag: string
  readonly status: number
  readonly headers: HeaderList
  /** Below `now` where it is stale. */
  readonly freshUntil: EpochMs
  /** When the version before it was generated, where this one was generated for this call and there was one. */
  readonly replaced?: EpochMs | undefined
  /** Why a stale one is served; absent while it is being regenerated in the background. */
  readonly failure?: unknown
}

export interface Regenerated {
  /** Between the two versions. */
  readonly gapMs: number
  readonly isChanged: boolean
}

/** One caller's demands beyond the terms. */
export interface ObjectDemands {
  /** A version generated before this is not fresh to it: it is regenerated while the caller waits. */
  readonly freshFrom?: EpochMs
  /** A version generated before this is not served to it, not even where regenerating fails. */
  readonly usableFrom?: EpochMs
  /** A witness has verified that its source data has not changed: it stays fresh beyond its terms. */
  readonly vouched?: VouchedSpan | undefined
  /** Hears of the regeneration that this call begins, where there was a version before. Must not throw. */
  readonly onRegenerated?: ((seen: Regenerated) => void) | undefined
}

/** One object, all objects of a tenant with a tag, or all of a tenant. */
export type Invalidated = string | ObjectKey | { readonly tenant: string; readonly tag?: string }

export interface ObjectCache {
  /**
   * Synchronous where a fresh body is in this process. Rejects with the error of `render` where nothing may be served
   * instead.
   */
  get(
    key: string | ObjectKey,
    render: Render,
    terms: ObjectTerms,
    demands?: ObjectDemands,
  ): MaybePromise<ObjectAnswer>
  /** The stored object, fresh or not, within `staleIfErrorSeconds`; nothing is regenerated. */
  peek(key: string | ObjectKey, demands?: ObjectDemands): MaybePromise<ObjectAnswer | undefined>
  /** Makes objects stale at once; they may still be served where regenerating fails. */
  invalidate(what: Invalidated): MaybePromise<void>
  /** Puts the previous version back: it is fresh from now on. False where there is none. */
  rollback(key: string | ObjectKey): MaybePromise<boolean>
}
