/** A limiter whose permits are counted as usage. Degraded permits took nothing, and are not counted. */
import { andThen, type MaybePromise } from '../core/maybe.ts'
import type { AcquireRequest, Limiter, LimitSource, LimitStatus, Permit, Refusal, Tokens } from './limit.ts'
import type { UsageCounter } from './usage.ts'
import { addTokens } from './usage-window.ts'

export function countedLimiter(limiter: Limiter, usage: UsageCounter): Limiter {
  const counted = (request: AcquireRequest, outcome: Permit | Refusal): Permit | Refusal => {
    const { entity, resource, consume } = request
    if (!outcome.ok) {
      usage.refused(entity, resource)
      return outcome
    }
    if (outcome.isDegraded === true) return outcome
    usage.permitted(entity, resource, consume)
    return new UsagePermit(outcome, request, usage)
  }
  return {
    acquire: (request) => andThen(limiter.acquire(request), (outcome) => counted(request, outcome)),
    status: (entity, resource) => limiter.status(entity, resource),
  }
}

class UsagePermit implements Permit {
  readonly ok = true
  readonly source?: LimitSource
  readonly limits: readonly LimitStatus[]
  readonly #permit: Permit
  readonly #request: AcquireRequest
  readonly #usage: UsageCounter
  /** The tokens that adjustments have added; undefined before the first. */
  #adjusted: Map<string, number> | undefined
  #isRefunded = false

  constructor(permit: Permit, request: AcquireRequest, usage: UsageCounter) {
    this.#permit = permit
    this.#request = request
    this.#usage = usage
    this.limits = permit.limits
    if (permit.source !== undefined) this.source = permit.source
  }

  adjust(delta: Tokens): MaybePromise<void> {
    const { entity, resource } = this.#request
    if (!this.#isRefunded) {
      this.#adjusted ??= new Map()
      addTokens(this.#adjusted, delta, 1)
      this.#usage.adjusted(entity, resource, delta)
    }
    return this.#permit.adjust(delta)
  }

  refund(): MaybePromise<void> {
    const { entity, resource, consume } = this.#request
    if (!this.#isRefunded) {
      this.#isRefunded = true
      this.#usage.refunded(entity, resource, consume)
      if (this.#adjusted !== undefined)
        this.#usage.refunded(entity, resource, Object.fromEntries(this.#adjusted))
    }
    return this.#permit.refund()
  }
}
