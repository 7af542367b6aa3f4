/** The limits of an entity, checked and turned into units. Those of a resolver are used again for every request. */
import type { BucketLimit } from '../stores/cells.ts'
import { bucketTtlSeconds } from './bucket-ttl.ts'
import type { Limit, LimitSource } from './limit.ts'
import { shardCount, shareOf } from './shards.ts'
import { checkLimits } from './token-bucket.ts'

export class CountedLimits {
  readonly limits: readonly Limit[]
  readonly #multiplier: number
  /** By number of shards, then by shard. */
  readonly #shares = new Map<number, readonly (readonly BucketLimit[])[]>()
  #ttl: { readonly source: LimitSource; readonly seconds: number | 'none' } | undefined

  /** Throws where they cannot be counted. */
  constructor(limits: readonly Limit[], multiplier: number) {
    checkLimits(limits)
    this.limits = limits
    this.#multiplier = multiplier
  }

  /** The limits as each shard counts them: as many as requested, unless a share would be empty. */
  shares(asked: number): readonly (readonly BucketLimit[])[] {
    let shares = this.#shares.get(asked)
    if (shares === undefined) {
      const count = shardCount(asked, this.limits)
      shares = Array.from({ length: count }, (_, shard) =>
        this.limits.map((limit) => shareOf(limit, shard, count)),
      )
      this.#shares.set(asked, shares)
    }
    return shares
  }

  ttlSeconds(source: LimitSource): number | 'none' {
    if (this.#ttl?.source !== source) {
      const seconds = bucketTtlSeconds(this.limits, { source, multiplier: this.#multiplier })
      this.#ttl = { source, seconds }
    }
    return this.#ttl!.seconds
  }
}
