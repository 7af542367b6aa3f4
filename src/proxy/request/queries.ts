/**
 * A complete query: plan → cache (or forward) → answer. Read `serve` from top to bottom; renderer.ts has the last step.
 */
import type { Bypass, Plan, WireRequest } from '../../backends/backend.ts'
import type { WholePlan } from '../../backends/whole-answers.ts'
import { readDemands } from '../../engine/http/demands.ts'
import { identityOf } from '../../engine/http/identity.ts'
import { planRequest } from '../../engine/http/plan-request.ts'
import type { IntervalCache } from '../../engine/interval-cache.ts'
import { rewritePlan } from '../../engine/rewrites.ts'
import type { Answer, Demands } from '../../engine/trip.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { Cancels } from './cancels.ts'
import type { Outgoing } from './outgoing.ts'
import type { OwnAnswers } from './own-answers.ts'
import { isLong, type Planning, queryBytes } from './planning.ts'
import type { Renderer } from './renderer.ts'
import { type RuledTerms, termsFor } from './settings.ts'
import { type WholeOptions, WholeRequests } from './whole.ts'

export interface QueriesOptions extends WholeOptions {
  readonly cache: IntervalCache
  /** Shared by all databases of a thread. */
  readonly planning: Planning
}

/** How answers leave, and how queries are cancelled. */
interface QueryTools {
  readonly own: OwnAnswers
  readonly renderer: Renderer
  readonly cancels: Cancels
}

export class Queries {
  readonly #options: QueriesOptions
  readonly #own: OwnAnswers
  readonly #renderer: Renderer
  readonly #cancels: Cancels
  readonly #whole: WholeRequests

  constructor(options: QueriesOptions, { own, renderer, cancels }: QueryTools) {
    this.#options = options
    this.#own = own
    this.#renderer = renderer
    this.#cancels = cancels
    this.#whole = new WholeRequests(options)
  }

  claims(method: string, path: string): boolean {
    return this.#options.backend.claims(method, path) || this.#whole.claims(method, path)
  }

  serve(outgoing: Outgoing, wire: WireRequest): MaybePromise<void> {
    const began = this.#options.clock.elapsed()
    outgoing.wire = wire
    const demands = readDemands(wire.headers, this.#options.clock.now())
    const plan = demands.noStore ? { bypass: 'no_store' as const } : this.#plan(outgoing, wire)
    outgoing.decision.timings.plan = this.#options.clock.elapsed() - began
    if ('endpoint' in plan) return this.#kept(outgoing, plan, demands)
    if ('bypass' in plan) {
      outgoing.question = this.#options.backend.presentation?.requestText?.(wire)
      if (demands.onlyIfCached) return this.#own.refuse(outgoing, 'only_if_cached', 'this is never stored')
      return this.#renderer.forwardQuery(outgoing, wire, plan)
    }
    return this.#ranged(outgoing, plan, demands)
  }

  /** A query over a time range. */
  #ranged(outgoing: Outgoing, plan: Plan, demands: Demands): MaybePromise<void> {
    const wire = outgoing.wire!
    const terms = termsFor(this.#options.settings(), {
      path: wire.path,
      headers: wire.headers,
      query: plan.text,
    })
    const { mode } = terms
    outgoing.plan = mode === 'on' ? this.#rewritten(outgoing, plan, terms) : plan
    this.#cancels.note(outgoing, terms.identity)
    if (mode === 'off') return this.#renderer.forwardQuery(outgoing, wire, { bypass: 'switched_off' })
    const { identity: partition, policy, maxStaleMs, trailingEmpty } = terms
    const identity = identityOf(wire.headers, partition)
    const request = {
      plan: outgoing.plan,
      identity,
      partition,
      demands,
      policy,
      maxStaleMs,
      trailingEmpty,
      target: outgoing,
      client: outgoing,
      meter: outgoing.ticket,
    }
    const { cache } = this.#options
    if (mode === 'shadow') {
      outgoing.isForwarded = true
      return this.#renderer.charged(outgoing, async () =>
        this.#renderer.render(outgoing, wire, await cache.shadow(request, outgoing.decision)),
      )
    }
    const answer = cache.serve(request, outgoing.decision)
    return answer instanceof Promise
      ? answer.then((late) => this.#renderer.render(outgoing, wire, late))
      : this.#renderer.render(outgoing, wire, answer)
  }

  /** Not called in shadow mode, which compares answers to the client's own request. */
  #rewritten(outgoing: Outgoing, own: Plan, terms: RuledTerms): Plan {
    const { backend, clock } = this.#options
    const plan = rewritePlan(backend, own, { terms, now: clock.now() })
    if (plan.rewritten !== undefined) outgoing.decision.rewritten = plan.rewritten
    return plan
  }

  /** A query over a time range, or one whose answer is kept as a whole, or why it is neither. */
  #plan(outgoing: Outgoing, wire: WireRequest): Plan | WholePlan | Bypass<string> {
    const { backend, flavour, clock, planning } = this.#options
    const context = { backend, now: clock.now(), flavour: () => flavour.noteRequest(wire.headers) }
    const plan = () => {
      const ranged = planRequest(context, wire)
      return 'bypass' in ranged ? (this.#whole.plan(wire) ?? ranged) : ranged
    }
    const bytes = queryBytes(wire)
    return isLong(bytes) ? planning.run({ bytes, address: outgoing.clientAddress }, plan) : plan()
  }

  #kept(outgoing: Outgoing, plan: WholePlan, demands: Demands): MaybePromise<void> {
    outgoing.kept = plan
    outgoing.question = this.#options.backend.presentation?.requestText?.(plan.request) ?? plan.text
    const answer = this.#whole.serve(outgoing, plan, demands)
    if (!('bypass' in answer)) outgoing.endpoint = plan.endpoint
    const render = (given: Answer | Bypass<string>) =>
      'bypass' in given
        ? this.#renderer.forwardQuery(outgoing, plan.request, given)
        : this.#renderer.render(outgoing, plan.request, given)
    const pending = answer instanceof Promise ? answer.then(render) : render(answer)
    return pending instanceof Promise ? pending.then(() => chargeWhole(outgoing)) : pending
  }
}

/** Charges a request whose answer is cached whole, where it was the one that queried the database. */
function chargeWhole({ ticket, decision }: Outgoing): void {
  if (decision.outcome === 'miss' && decision.collapsed !== true) ticket?.spendFlat()
}
