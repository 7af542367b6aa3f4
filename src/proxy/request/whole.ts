/** Requests whose answers are cached as a whole: which they are, and how each is answered. */
import type { Backend, Bypass, WireRequest } from '../../backends/backend.ts'
import type { WholePlan } from '../../backends/whole-answers.ts'
import type { Clock } from '../../core/clock.ts'
import type { FlavourWatch } from '../../engine/http/flavour.ts'
import { identityOf } from '../../engine/http/identity.ts'
import type { WholeCache } from '../../engine/objects/whole-cache.ts'
import { WholeRules, type WholeSettings } from '../../engine/objects/whole-terms.ts'
import type { Answer, Demands } from '../../engine/trip.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { Outgoing } from './outgoing.ts'
import { type Settings, termsFor } from './settings.ts'

export interface WholeOptions {
  readonly clock: Clock
  readonly backend: Backend
  readonly flavour: FlavourWatch
  /** Read once per request. */
  readonly settings: () => Settings
  /** Without it, nothing is cached as a whole. */
  readonly whole?: WholeCache | undefined
}

export const notARangeQuery = { bypass: 'not_a_range_query' } as const

export class WholeRequests {
  readonly #options: WholeOptions
  #rules: WholeRules | undefined

  constructor(options: WholeOptions) {
    this.#options = options
  }

  /** Called before the body of a request is read, for requests that are not range queries. */
  claims(method: string, path: string): boolean {
    return this.#rulesOf(this.#options.settings().whole)?.claims(method, path) === true
  }

  /** Undefined where its answer is not to be kept: it is forwarded, for the reason that it was not planned otherwise. */
  plan(wire: WireRequest): WholePlan | undefined {
    const { clock, flavour, settings } = this.#options
    const rules = this.#rulesOf(settings().whole)
    if (rules === undefined) return undefined
    const plan = planned(() => rules.plan(wire, clock.now()))
    return plan !== undefined && flavour.noteRequest(wire.headers).isKnown ? plan : undefined
  }

  serve(
    outgoing: Outgoing,
    plan: WholePlan,
    demands: Demands,
  ): MaybePromise<Answer | Bypass<string>> | Bypass<string> {
    const isSpent = outgoing.ticket?.isSpent === true && !demands.onlyIfCached
    return isSpent ? this.#serveSpent(outgoing, plan, demands) : this.#serve(outgoing, plan, demands)
  }

  /** A client without tokens gets the stored answer. The database is queried for it once it has tokens again. */
  async #serveSpent(outgoing: Outgoing, plan: WholePlan, demands: Demands): Promise<Answer | Bypass<string>> {
    const stored = await this.#serve(outgoing, plan, { ...demands, onlyIfCached: true })
    if ('bypass' in stored || stored.kind !== 'not-cached') return stored
    const charge = await outgoing.ticket!.chargeForwarded()
    if ('refusal' in charge) return { kind: 'over-quota', refusal: charge.refusal }
    return this.#serve(outgoing, plan, demands)
  }

  #serve(outgoing: Outgoing, plan: WholePlan, demands: Demands): MaybePromise<Answer> | Bypass<string> {
    const { settings, whole } = this.#options
    const inForce = settings()
    const { request } = plan
    const terms = termsFor(inForce, { ...request, query: plan.query ?? plan.text })
    if (terms.mode === 'off') return { bypass: 'switched_off' }
    const rules = this.#rulesOf(inForce.whole)
    // Answers that are cached as a whole are not compared.
    if (terms.mode === 'shadow' || terms.objects === false || rules === undefined) return notARangeQuery
    const { identity: partition, maxStaleMs } = terms
    return whole!.serve(
      {
        ...{ plan, partition, demands, target: outgoing, client: outgoing },
        identity: identityOf(request.headers, partition),
        terms: rules.termsOf(plan, maxStaleMs),
        staleness: rules.stalenessOf(plan),
        withinMs: rules.settings.instantWithinMs,
      },
      outgoing.decision,
    )
  }

  /** Settings are the same for many requests. */
  #rulesOf(settings: WholeSettings | undefined): WholeRules | undefined {
    const { backend, whole } = this.#options
    if (settings === undefined || whole === undefined) return undefined
    if (this.#rules?.settings !== settings) this.#rules = new WholeRules(backend.whole, settings)
    return this.#rules
  }
}

/** A fault in the backend: the database may understand the request all the same. */
function planned(plan: () => WholePlan | undefined): WholePlan | undefined {
  try {
    return plan()
  } catch {
    return undefined
  }
}
