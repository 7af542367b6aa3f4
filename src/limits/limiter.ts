/** Permits and refusals from token buckets in cells. See limit.ts for the words. */
import { type Clock, systemClock } from '../core/clock.ts'
import { andThen, type MaybePromise, orElse } from '../core/maybe.ts'
import type { Cells } from '../stores/cells.ts'
import { Account, type AccountTerms, type Charged } from './account.ts'
import { checkNames } from './bucket-ids.ts'
import { defaultMultiplier } from './bucket-ttl.ts'
import { CountedLimits } from './counted-limits.ts'
import type {
  AcquireRequest,
  EntityStatus,
  Limit,
  Limiter,
  LimitResolver,
  Permit,
  Refusal,
  ResolvedLimits,
} from './limit.ts'
import { CountedPermit, degradedPermit, uncountedPermit } from './permits.ts'
import { badLimits, checkLimits } from './token-bucket.ts'

export interface LimiterOptions {
  readonly clock?: Clock
  /** Finds the limits of entities. Without one every request must bring its `limits`. */
  readonly resolver?: LimitResolver
  /** A row is kept this many times the longest time to fill (7). 0 and less keep rows for ever. */
  readonly multiplier?: number
  /** The result while the store or the resolver fails: a degraded permit (`allow`, the default), or a refusal. */
  readonly onUnavailable?: 'allow' | 'block'
  /**
   * In how many rows an entity is counted (1): for entities with more requests than one row carries. Capacity and
   * refill are divided, so that one request can take no more than the share of a row.
   */
  readonly shards?: number | ((entity: string, resource: string) => number)
  /** Rows are kept up to this many seconds longer (0), so that those made together are not collected together. */
  readonly jitterSeconds?: number
}

export function limiter(cells: Cells, options: LimiterOptions = {}): Limiter {
  return new CellLimiter(cells, options)
}

class CellLimiter implements Limiter {
  readonly #resolver: LimitResolver | undefined
  readonly #onUnavailable: 'allow' | 'block'
  readonly #terms: AccountTerms
  readonly #multiplier: number
  /** Limits that the resolver has returned before, by the array that they came in. */
  readonly #known = new WeakMap<readonly Limit[], CountedLimits>()

  constructor(cells: Cells, options: LimiterOptions) {
    const { clock = systemClock, multiplier = defaultMultiplier, shards = 1, jitterSeconds = 0 } = options
    if (!Number.isFinite(multiplier)) throw badLimits(`The multiplier is ${multiplier}, not a number.`)
    if (!(jitterSeconds >= 0 && Number.isFinite(jitterSeconds)))
      throw badLimits(`jitterSeconds is ${jitterSeconds}, not a number of 0 or more.`)
    if (typeof shards === 'number' && !(Number.isSafeInteger(shards) && shards > 0))
      throw badLimits(`The number of shards is ${shards}, not a whole number above 0.`)
    const shardsOf = typeof shards === 'function' ? shards : () => shards
    this.#resolver = options.resolver
    this.#multiplier = multiplier
    this.#onUnavailable = options.onUnavailable ?? 'allow'
    this.#terms = {
      ...{ cells, clock, jitterSeconds },
      shardsOf: (entity, resource) => Math.max(1, Math.floor(shardsOf(entity, resource)) || 1),
    }
  }

  acquire(request: AcquireRequest): MaybePromise<Permit | Refusal> {
    checkRequest(request)
    const { limits } = request
    const resolver = this.#resolver
    if (limits === undefined && resolver === undefined)
      throw badLimits('The request has no limits, and the limiter has no resolver that knows them.')
    return orElse(
      () =>
        limits !== undefined
          ? this.#acquire(request, { source: 'override', limits })
          : andThen(resolver!.resolve(request.entity, request.resource), (resolved) =>
              hasLimits(resolved) ? this.#acquire(request, resolved) : uncountedPermit,
            ),
      () => this.#unavailable(),
    )
  }

  status(entity: string, resource: string): MaybePromise<EntityStatus | undefined> {
    checkNames(entity, resource)
    if (this.#resolver === undefined) return undefined
    return andThen(this.#resolver.resolve(entity, resource), (resolved) =>
      hasLimits(resolved) ? this.#account(entity, resource, resolved).status() : undefined,
    )
  }

  #acquire(request: AcquireRequest, resolved: ResolvedLimits): MaybePromise<Permit | Refusal> {
    const { entity, resource, consume } = request
    const account = this.#account(entity, resource, resolved)
    if (resolved.parent === undefined) {
      return andThen(account.charge(consume), (charged) => permitOf(account, charged))
    }
    return andThen(this.#parentOf(request, resolved), (parent) =>
      andThen(account.charge(consume), (charged) => {
        if (!charged.ok || parent === undefined) return permitOf(account, charged)
        return this.#withParent(account, charged, () => parent.charge(consume))
      }),
    )
  }

  /** Undefined where there is none, or where it has no limits. */
  #parentOf(
    { entity, resource }: AcquireRequest,
    { parent }: ResolvedLimits,
  ): MaybePromise<Account | undefined> {
    if (parent === undefined || parent === entity || this.#resolver === undefined) return undefined
    checkNames(parent, resource)
    return andThen(this.#resolver.resolve(parent, resource), (resolved) =>
      hasLimits(resolved) ? this.#account(parent, resource, resolved) : undefined,
    )
  }

  /**
   * The rows may be in different partitions, which no engine changes together. The child is charged first, and gets its
   * tokens back where the parent does not admit: in between too few requests are admitted, never too many.
   */
  #withParent(
    account: Account,
    child: Charged,
    chargeParent: () => MaybePromise<Charged | Refusal>,
  ): MaybePromise<Permit | Refusal> {
    const charged = orElse<Charged | Refusal | undefined>(chargeParent, () => undefined)
    return andThen(charged, (parent) =>
      parent?.ok
        ? new CountedPermit(account.source, child.limits, [child.row, parent.row])
        : andThen(child.row.refund(), () => parent ?? this.#unavailable()),
    )
  }

  #account(entity: string, resource: string, resolved: ResolvedLimits): Account {
    const name = { entity, resource, source: resolved.source }
    return new Account(this.#terms, name, this.#countedOf(resolved))
  }

  #countedOf({ source, limits }: ResolvedLimits): CountedLimits {
    // A program may change the limits of its own request between two calls.
    const isKept = source !== 'override'
    const known = isKept ? this.#known.get(limits) : undefined
    if (known !== undefined) return known
    const counted = new CountedLimits(limits, this.#multiplier)
    if (isKept) this.#known.set(limits, counted)
    return counted
  }

  #unavailable(): Permit | Refusal {
    return this.#onUnavailable === 'allow' ? degradedPermit : { ok: false, cause: 'unavailable', limits: [] }
  }
}

const permitOf = ({ source }: Account, charged: Charged | Refusal): Permit | Refusal =>
  charged.ok ? new CountedPermit(source, charged.limits, [charged.row]) : charged

/** A level without limits exempts its entities. */
const hasLimits = (resolved: ResolvedLimits | undefined): resolved is ResolvedLimits =>
  resolved !== undefined && resolved.limits.length > 0

/** Throws before anything is touched. */
function checkRequest({ entity, resource, consume, limits }: AcquireRequest): void {
  checkNames(entity, resource)
  if (limits !== undefined) checkLimits(limits)
  for (const name of Object.keys(consume)) {
    const tokens = consume[name]!
    if (!(Number.isSafeInteger(tokens) && tokens >= 0))
      throw badLimits(`${JSON.stringify(name)} is to consume ${tokens}, not a whole number of 0 or more.`)
    if (limits !== undefined && !limits.some((limit) => limit.name === name))
      throw badLimits(`${JSON.stringify(name)} is to be consumed, but none of the limits has this name.`)
  }
}
