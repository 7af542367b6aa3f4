/** The limits of one entity for one resource, and the rows of cells that they are counted in. */
import type { Clock, EpochMs } from '../core/clock.ts'
import type { BucketLevel, BucketLimit, Cells, LimitCost, TakeOutcome, TokenTake } from '../stores/cells.ts'
import type { MaybePromise } from '../stores/store.ts'
import { bucketId } from './bucket-ids.ts'
import { bucketTtlSeconds } from './bucket-ttl.ts'
import { ChargedRow } from './charged-row.ts'
import type { EntityStatus, Limit, LimitStatus, Refusal, ResolvedLimits } from './limit.ts'
import { andThen } from './maybe.ts'
import { shardCount, shardsToTry, shareOf } from './shards.ts'

export interface AccountTerms {
  readonly cells: Cells
  readonly clock: Clock
  readonly multiplier: number
  /** Rows are kept up to this much longer, so that those made together are not collected together. */
  readonly jitterSeconds: number
  shardsOf(entity: string, resource: string): number
}

export interface Charged {
  readonly ok: true
  readonly row: ChargedRow
  readonly limits: readonly LimitStatus[]
}

export type Consume = Readonly<Record<string, number>>

export class Account {
  readonly source: ResolvedLimits['source']
  readonly #terms: AccountTerms
  readonly #names: { readonly entity: string; readonly resource: string }
  readonly #limits: readonly Limit[]
  readonly #shards: number

  constructor(
    terms: AccountTerms,
    names: { readonly entity: string; readonly resource: string },
    { source, limits }: ResolvedLimits,
  ) {
    this.source = source
    this.#terms = terms
    this.#names = names
    this.#limits = limits
    this.#shards = shardCount(terms.shardsOf(names.entity, names.resource), limits)
  }

  /** Takes from all limits or from none. Throws or rejects where the store fails. */
  charge(consume: Consume): MaybePromise<Charged | Refusal> {
    const costs = this.#limits.map((limit) => ({ limit, cost: costOf(limit, consume) }))
    const shards = shardsToTry(costs, this.#shards, this.#terms.clock.random)
    if (shards.length === 0) return this.#never(costs)
    return this.#chargeOneOf(shards, consume)
  }

  /** What is left in all rows together. */
  status(): MaybePromise<EntityStatus> {
    const peeks = Array.from({ length: this.#shards }, (_, shard) =>
      this.#terms.cells.take(this.#idOf(shard), this.#takeOf(shard, 'peek', {})),
    )
    return peeks.some((peek) => peek instanceof Promise)
      ? Promise.all(peeks).then((outcomes) => this.#statusOf(outcomes))
      : this.#statusOf(peeks as readonly TakeOutcome[])
  }

  #chargeOneOf(
    [shard, ...others]: readonly number[],
    consume: Consume,
    before?: Refusal,
  ): MaybePromise<Charged | Refusal> {
    const id = this.#idOf(shard!)
    const take = this.#takeOf(shard!, 'take', consume)
    return andThen(this.#terms.cells.take(id, take), (outcome) => {
      const levels = levelsOf(outcome)
      if (outcome.ok)
        return {
          ok: true,
          row: new ChargedRow(this.#terms.cells, id, take.limits),
          limits: this.#statuses(levels),
        } as const
      const refusal = soonest(before, this.#refusalOf(outcome))
      return others.length === 0 ? refusal : this.#chargeOneOf(others, consume, refusal)
    })
  }

  #idOf(shard: number) {
    return bucketId(this.#names.entity, this.#names.resource, shard)
  }

  #takeOf(shard: number, kind: TokenTake['kind'], consume: Consume): TokenTake {
    const limits = this.#limits.map((limit): BucketLimit & LimitCost => {
      const share = shareOf(limit, shard, this.#shards)
      return { ...share, cost: costOf(limit, consume) }
    })
    return { kind, limits, keepMs: this.#keepMs() }
  }

  #keepMs(): number | 'forever' {
    const { multiplier, jitterSeconds, clock } = this.#terms
    const ttl = bucketTtlSeconds(this.#limits, { source: this.source, multiplier })
    if (ttl === 'none') return 'forever'
    const jitterMs = jitterSeconds === 0 ? 0 : Math.floor(clock.random() * jitterSeconds * 1000)
    return ttl * 1000 + jitterMs
  }

  #statuses(levels: readonly BucketLevel[], exceeded: readonly string[] = []): LimitStatus[] {
    return this.#limits.map((limit, i) => ({
      limit,
      available: tokensIn(levels[i]!),
      isExceeded: exceeded.includes(limit.name),
    }))
  }

  #refusalOf(outcome: TakeOutcome): Refusal {
    if (outcome.ok || !('exceeded' in outcome)) throw new Error('the outcome is no refusal')
    const { retryAfterMs } = outcome
    const limits = this.#statuses(outcome.levels, outcome.exceeded)
    return retryAfterMs === undefined
      ? { ok: false, cause: 'never', limits, source: this.source }
      : { ok: false, cause: 'exceeded', retryAfterSeconds: retryAfterMs / 1000, limits, source: this.source }
  }

  /** More than any shard can hold. */
  #never(costs: readonly { readonly limit: Limit; readonly cost: number }[]): Refusal {
    const limits = costs.map(({ limit, cost }) => ({
      limit,
      available: Math.floor(limit.capacity / this.#shards),
      isExceeded: cost > Math.floor(limit.capacity / this.#shards),
    }))
    return { ok: false, cause: 'never', limits, source: this.source }
  }

  #statusOf(outcomes: readonly TakeOutcome[]): EntityStatus {
    const rows = outcomes.map(levelsOf)
    const limits = this.#limits.map((limit, i) => ({
      limit,
      available: rows.reduce((sum, levels) => sum + tokensIn(levels[i]!), 0),
      isExceeded: false,
    }))
    return { source: this.source, limits, ttl: this.#ttlOf(outcomes) }
  }

  /** Of the row that is kept longest. A row that does not exist yet is treated as if it were written now. */
  #ttlOf(outcomes: readonly TakeOutcome[]): EpochMs | 'none' {
    const keepMs = this.#keepMs()
    const ends = outcomes.map((outcome) => {
      const collectAt = outcome.ok ? outcome.collectAt : undefined
      if (collectAt === undefined) return keepMs === 'forever' ? keepMs : this.#terms.clock.now() + keepMs
      return collectAt === 'never' ? 'forever' : collectAt * 1000
    })
    return ends.includes('forever') ? 'none' : Math.max(...(ends as readonly number[]))
  }
}

const costOf = ({ name }: Limit, consume: Consume): number =>
  Object.hasOwn(consume, name) ? consume[name]! : 0

const tokensIn = ({ level, unitsPerToken }: BucketLevel): number => Math.floor(level / unitsPerToken)

/** A row that could not be reached, or not be changed, is a failure of the store. */
function levelsOf(outcome: TakeOutcome): readonly BucketLevel[] {
  if ('levels' in outcome) return outcome.levels
  throw new Error(`the cells refuse a token bucket: ${outcome.reason}`)
}

const soonest = (a: Refusal | undefined, b: Refusal): Refusal =>
  a !== undefined && (a.retryAfterSeconds ?? Infinity) <= (b.retryAfterSeconds ?? Infinity) ? a : b
