/**
 * The quota of the clients of one backend. Every request takes a token of `requests` before it is planned; its ticket
 * takes `cost` and `points`, for its actual queries to the database.
 */
import type { Clock } from '../../core/clock.ts'
import { andThen, type MaybePromise } from '../../core/maybe.ts'
import type { Identity } from '../../engine/http/identity.ts'
import type { Limiter, Permit, Refusal, Tokens } from '../../limits/limit.ts'
import { quotaLimits } from '../../telemetry/labels.ts'
import type { Log } from '../../telemetry/log.ts'
import type { QuotaCounts } from '../../telemetry/quota-families.ts'
import { entityOf, type Requester } from './entity.ts'
import { exceededLimits } from './refusal-answer.ts'
import { RequestTokens } from './request-tokens.ts'
import type { ProxyLimit, QuotaTerms } from './terms.ts'
import { Ticket } from './ticket.ts'

export interface QuotaOptions {
  readonly backend: string
  readonly clock: Clock
  readonly limiters: { of(terms: QuotaTerms): Limiter; readonly changes: number }
  /** Undefined while no client is limited. Called once per request. */
  readonly terms: () => QuotaTerms | undefined
  /** How the identity of a client is found, for `entity: identity`. */
  readonly partition: () => Identity
  readonly log?: Pick<Log, 'change'> | undefined
}

export interface Admission {
  readonly ticket: Ticket
  /** Undefined where the request is permitted. */
  readonly refusal: Refusal | undefined
}

/** The log of a dry run has at most one line in this time. */
const dryRunEveryMs = 10_000

export class Quota {
  readonly #options: QuotaOptions
  #permits = 0
  #degraded = 0
  readonly #refused: Record<ProxyLimit, number> = { requests: 0, cost: 0, points: 0 }
  readonly #dryRun: Record<ProxyLimit, number> = { requests: 0, cost: 0, points: 0 }
  #loggedAt = Number.NEGATIVE_INFINITY
  readonly #requests: RequestTokens

  constructor(options: QuotaOptions) {
    this.#options = options
    this.#requests = new RequestTokens(options.clock, () => options.limiters.changes)
  }

  /** Whether any client may be limited. */
  get isActive(): boolean {
    return this.#options.terms() !== undefined
  }

  get counts(): QuotaCounts {
    return {
      ...{ permits: this.#permits, degraded: this.#degraded },
      ...{ refused: { ...this.#refused }, dryRun: { ...this.#dryRun } },
    }
  }

  /** Takes the request token. At once where tokens are counted in this thread. Only while `isActive`. */
  admit(requester: Requester): MaybePromise<Admission> {
    const terms = this.#options.terms()!
    const ticket = new Ticket(this, terms, entityOf(terms.entity, requester, this.#options.partition()))
    return andThen(ticket.admit(), (taken) => ({ ticket, refusal: taken.ok ? undefined : taken }))
  }

  /** Takes the token of a request, and counts the result, as `take` does. */
  takeRequest(ticket: Pick<Ticket, 'terms' | 'entity'>): MaybePromise<Permit | Refusal> {
    const { terms, entity } = ticket
    const { backend: resource, limiters } = this.#options
    const outcome = this.#requests.take(ticket, (request) =>
      limiters.of(terms).acquire({ ...request, resource }),
    )
    return andThen(outcome, (taken) => this.#judge(terms, entity, taken))
  }

  /** Takes tokens for a ticket, and counts the result. In a dry run a refusal becomes a permit. */
  take({ terms, entity }: Pick<Ticket, 'terms' | 'entity'>, consume: Tokens): MaybePromise<Permit | Refusal> {
    const { backend: resource, limiters } = this.#options
    const outcome = limiters.of(terms).acquire({ entity, resource, consume })
    return andThen(outcome, (taken) => this.#judge(terms, entity, taken))
  }

  #judge(terms: QuotaTerms, entity: string, outcome: Permit | Refusal): Permit | Refusal {
    if (outcome.ok) {
      this.#permits++
      if (outcome.isDegraded) this.#degraded++
      return outcome
    }
    const counted = terms.isDryRun ? this.#dryRun : this.#refused
    for (const name of exceededLimits(outcome)) if (isProxyLimit(name)) counted[name]++
    if (!terms.isDryRun) return outcome
    this.#permits++
    this.#logDryRun(entity, outcome)
    return { ok: true, limits: outcome.limits, adjust() {}, refund() {} }
  }

  #logDryRun(entity: string, refusal: Refusal): void {
    const { backend, clock, log } = this.#options
    const now = clock.elapsed()
    if (now - this.#loggedAt < dryRunEveryMs) return
    this.#loggedAt = now
    const refused = quotaLimits.reduce((sum, name) => sum + this.#dryRun[name], 0)
    const is = `would have refused ${refused} so far (dry run)`
    log?.change(
      `quotas of ${backend}`,
      { is, isGood: false },
      { limit: exceededLimits(refusal).join(), entity },
    )
  }
}

const isProxyLimit = (name: string): name is ProxyLimit => (quotaLimits as readonly string[]).includes(name)
