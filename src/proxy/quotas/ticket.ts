/** The quota of one admitted request: pays for its queries, and reports the remaining tokens in its response. */
import { andThen, type MaybePromise } from '../../core/maybe.ts'
import type { Charge, CostMeter, OverQuota, QueryCost } from '../../engine/cost.ts'
import type { LimitStatus, Permit, Refusal, Tokens } from '../../limits/limit.ts'
import type { Quota } from './quota.ts'
import { rateLimitFields } from './rate-limit-fields.ts'
import type { QuotaTerms } from './terms.ts'

export class Ticket implements CostMeter {
  readonly terms: QuotaTerms
  readonly entity: string
  readonly #quota: Quota
  /** From the last permit. */
  #limits: readonly LimitStatus[] = []
  #permit: Permit | undefined
  /** A query was sent at the cost of this request. */
  #isCharged = false

  constructor(quota: Quota, terms: QuotaTerms, entity: string) {
    this.#quota = quota
    this.terms = terms
    this.entity = entity
  }

  /** For the response to this request; empty where nothing is limited. */
  get fields(): string[] {
    return rateLimitFields(this.#limits)
  }

  /** Whether no token is left for a query, as far as is known. */
  get isSpent(): boolean {
    return this.#limits.some(({ limit: { name }, available }) => available <= 0 && name !== 'requests')
  }

  /** Takes the token of the request itself. */
  admit(): MaybePromise<Permit | Refusal> {
    return this.#noted(this.#quota.takeRequest(this))
  }

  #noted(taken: MaybePromise<Permit | Refusal>): MaybePromise<Permit | Refusal> {
    return andThen(taken, (outcome) => this.#note(outcome))
  }

  charge({ seconds, points }: QueryCost): MaybePromise<Charge | OverQuota> {
    const estimate = this.#limited({ cost: seconds, points })
    return estimate === undefined ? free : this.#charge(estimate)
  }

  /** Charges a request that is forwarded, once; free where its query was charged already. */
  chargeForwarded(): MaybePromise<Charge | OverQuota> {
    const cost = this.#isCharged ? undefined : this.#flatCost()
    return cost === undefined ? free : this.#charge(cost)
  }

  /**
   * Charges a query whose answer is cached whole, when it is over: only then is it known that there was one. May lead into debt;
   * then `isSpent`.
   */
  spendFlat(): void {
    const cost = this.#isCharged ? undefined : this.#flatCost()
    if (cost !== undefined) void this.#permit?.adjust(cost)
  }

  #flatCost(): Tokens | undefined {
    const { forwardedCost } = this.terms
    return forwardedCost === 0 ? undefined : this.#limited({ cost: forwardedCost, points: forwardedCost })
  }

  #note(taken: Permit | Refusal): Permit | Refusal {
    this.#limits = taken.limits
    if (taken.ok) this.#permit = taken
    return taken
  }

  /** The part of a cost that is limited; undefined where nothing is. */
  #limited(cost: Tokens): Tokens | undefined {
    let limited: Record<string, number> | undefined
    for (const { limit } of this.#limits) {
      const amount = cost[limit.name]
      if (amount === undefined) continue
      limited ??= {}
      limited[limit.name] = amount
    }
    return limited
  }

  #charge(cost: Tokens): MaybePromise<Charge | OverQuota> {
    const taken = this.#noted(this.#quota.take(this, cost))
    return andThen(taken, (known) => this.#charged(cost, known))
  }

  #charged(cost: Tokens, taken: Permit | Refusal): Charge | OverQuota {
    const { servesStale } = this.terms
    if (!taken.ok) return { refusal: taken, servesStale: servesStale && taken.cause !== 'unavailable' }
    this.#isCharged = true
    return {
      settle: ({ seconds, points }) => {
        const delta = differenceOf(cost, { cost: seconds, points })
        if (delta !== undefined) void taken.adjust(delta)
      },
      refund: () => {
        this.#isCharged = false
        void taken.refund()
      },
    }
  }
}

const free: Charge = { settle() {}, refund() {} }

/** The cost beyond the estimate; undefined where there is none. */
function differenceOf(estimate: Tokens, actual: Tokens): Tokens | undefined {
  const deltas = Object.entries(estimate).map(([name, amount]) => [name, actual[name]! - amount] as const)
  const changed = deltas.filter(([, delta]) => delta !== 0)
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}
