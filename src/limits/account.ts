/** The limits of one entity for one resource, and the rows of cells that they are counted in. */
import type { Clock, EpochMs } from '../core/clock.ts'
import { allOf, andThen, type MaybePromise } from '../core/maybe.ts'
import type { BucketLevel, BucketLimit, CellRefusal, Cells, TakeOutcome, TokenTake } from '../stores/cells.ts'
import { bucketId } from './bucket-ids.ts'
import { ChargedRow } from './charged-row.ts'
import type { CountedLimits } from './counted-limits.ts'
import type { EntityStatus, LimitSource, LimitStatus, Refusal, Tokens } from './limit.ts'
import { shardsToTry } from './shards.ts'

export interface AccountTerms {
  readonly cells: Cells
  readonly clock: Clock
  /** Rows are kept up to this much longer, so that those made together are not collected together. */
  readonly jitterSeconds: number
  shardsOf(entity: string, resource: string): number
}

export interface Charged {
  readonly ok: true
  readonly row: ChargedRow
  readonly limits: readonly LimitStatus[]
}

type Exceeded = Extract<TakeOutcome, { readonly exceeded: unknown }>

export interface AccountName {
  readonly entity: string
  readonly resource: string
  readonly source: LimitSource
}

export class Account {
  readonly #terms: AccountTerms
  readonly #name: AccountName
  readonly #counted: CountedLimits
  /** By shard. */
  readonly #shares: readonly (readonly BucketLimit[])[]

  constructor(terms: AccountTerms, name: AccountName, counted: CountedLimits) {
    this.#terms = terms
    this.#name = name
    this.#counted = counted
    this.#shares = counted.shares(terms.shardsOf(name.entity, name.resource))
  }

  get source(): LimitSource {
    return this.#name.source
  }

  /** Takes from all limits or from none. Throws or rejects where the store fails. */
  charge(consume: Tokens): MaybePromise<Charged | Refusal> {
    const shards = shardsToTry(
      this.#shares,
      (limit) => costOf(limit, consume),
      () => this.#terms.clock.random(),
    )
    return shards.length === 0 ? this.#never(consume) : this.#chargeOneOf(shards, consume)
  }

  /** The remaining tokens of all rows together. */
  status(): MaybePromise<EntityStatus> {
    const peeks = this.#shares.map((_, shard) =>
      this.#terms.cells.take(this.#idOf(shard), this.#takeOf(shard, 'peek', {})),
    )
    return andThen(allOf(peeks), (outcomes) => this.#statusOf(outcomes))
  }

  #chargeOneOf(
    shards: readonly number[],
    consume: Tokens,
    before?: Refusal,
  ): MaybePromise<Charged | Refusal> {
    const shard = shards[0]!
    const id = this.#idOf(shard)
    const take = this.#takeOf(shard, 'take', consume)
    return andThen(this.#terms.cells.take(id, take), (outcome) => {
      if (!('levels' in outcome)) throw failed(outcome.reason)
      if (outcome.ok) {
        const row = new ChargedRow(this.#terms.cells, id, take.limits)
        return { ok: true, row, limits: this.#statuses(outcome.levels) } as const
      }
      const refusal = soonest(before, this.#refusalOf(outcome))
      return shards.length === 1 ? refusal : this.#chargeOneOf(shards.slice(1), consume, refusal)
    })
  }

  #idOf(shard: number) {
    return bucketId(this.#name.entity, this.#name.resource, shard)
  }

  #takeOf(shard: number, kind: TokenTake['kind'], consume: Tokens): TokenTake {
    const limits = this.#shares[shard]!.map((limit) => ({ ...limit, cost: costOf(limit, consume) }))
    return { kind, limits, keepMs: this.#keepMs() }
  }

  #keepMs(): number | 'forever' {
    const { jitterSeconds, clock } = this.#terms
    const ttl = this.#counted.ttlSeconds(this.source)
    if (ttl === 'none') return 'forever'
    const jitterMs = jitterSeconds === 0 ? 0 : Math.floor(clock.random() * jitterSeconds * 1000)
    return ttl * 1000 + jitterMs
  }

  #statuses(levels: readonly BucketLevel[], exceeded: readonly string[] = []): LimitStatus[] {
    return this.#counted.limits.map((limit, i) => ({
      limit,
      available: tokensIn(levels[i]!),
      isExceeded: exceeded.includes(limit.name),
    }))
  }

  #refusalOf({ levels, exceeded, retryAfterMs }: Exceeded): Refusal {
    const limits = this.#statuses(levels, exceeded)
    return retryAfterMs === undefined
      ? { ok: false, cause: 'never', limits, source: this.source }
      : { ok: false, cause: 'exceeded', retryAfterSeconds: retryAfterMs / 1000, limits, source: this.source }
  }

  /** More than any shard can hold. */
  #never(consume: Tokens): Refusal {
    const largest = this.#shares[0]!
    const limits = this.#counted.limits.map((limit, i) => ({
      limit,
      available: largest[i]!.capacity,
      isExceeded: costOf(limit, consume) > largest[i]!.capacity,
    }))
    return { ok: false, cause: 'never', limits, source: this.source }
  }

  #statusOf(outcomes: readonly TakeOutcome[]): EntityStatus {
    const rows = outcomes.map((outcome) => {
      if (!('levels' in outcome)) throw failed(outcome.reason)
      return outcome.levels
    })
    const limits = this.#counted.limits.map((limit, i) => ({
      limit,
      available: rows.reduce((sum, levels) => sum + tokensIn(levels[i]!), 0),
      isExceeded: false,
    }))
    return { source: this.source, limits, ttl: this.#ttlOf(outcomes) }
  }

  /**
   * Of the row that is kept longest. Whether a row is kept for ever follows from the limits in force: they may have changed since it was
   * written, and its next use writes it so. Until then it can only be lost full. A row that does not exist yet is treated as if
   * it were written now.
   */
  #ttlOf(outcomes: readonly TakeOutcome[]): EpochMs | 'none' {
    const keepMs = this.#keepMs()
    if (keepMs === 'forever') return 'none'
    const ends = outcomes.map((outcome) => {
      const collectAt = outcome.ok ? outcome.collectAt : undefined
      const isTimed = collectAt !== undefined && collectAt !== 'never'
      return isTimed ? collectAt * 1000 : this.#terms.clock.now() + keepMs
    })
    return Math.max(...ends)
  }
}

const costOf = ({ name }: { readonly name: string }, consume: Tokens): number =>
  Object.hasOwn(consume, name) ? consume[name]! : 0

const tokensIn = ({ level, unitsPerToken }: BucketLevel): number => Math.floor(level / unitsPerToken)

/** A row that could not be reached, or not be changed: the limiter allows or blocks then. */
const failed = (reason: CellRefusal): Error => new Error(`the cells refuse a token bucket: ${reason}`)

const soonest = (a: Refusal | undefined, b: Refusal): Refusal =>
  a !== undefined && (a.retryAfterSeconds ?? Infinity) <= (b.retryAfterSeconds ?? Infinity) ? a : b
