/**
 * Settings that may be changed while requests are in progress: how one database is cached, and the rules that make
 * exceptions. Settings are values; a reload replaces them, and every request uses the settings of its arrival.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { Identity } from '../../engine/http/identity.ts'
import type { WholeSettings } from '../../engine/objects/whole-terms.ts'
import type { RewriteTerms } from '../../engine/rewrites.ts'
import type { TrailingEmpty } from '../../engine/trip.ts'
import type { TtlPolicy } from '../../ttl/policy.ts'
import type { QuotaTerms } from '../quotas/terms.ts'
import type { Concurrency } from '../upstream/slots.ts'

/**
 * `off`: everything is forwarded; `shadow`: too, and the answer of the cache is compared with the database's; `on`:
 * answers come from the cache where they can. The more careful first.
 */
export const modes = ['off', 'shadow', 'on'] as const
export type Mode = (typeof modes)[number]

export interface Terms extends RewriteTerms {
  readonly mode: Mode
  readonly identity: Identity
  readonly policy: TtlPolicy
  readonly maxStaleMs: number
  readonly trailingEmpty?: TrailingEmpty
  /** False: nothing is cached as a whole. */
  readonly objects?: boolean
}

/** The attributes of a request that rules can match. */
export interface RuleSubject {
  readonly path: string
  readonly headers: HeaderList
  /** The text of the query. */
  readonly query: string
}

export interface Rule {
  /** Its name in explanations. */
  readonly name: string
  readonly terms: Partial<Terms>
  /** Undefined where it cannot be decided: a text is too long to be matched. */
  isMatch(subject: RuleSubject): boolean | undefined
}

export interface RuledTerms extends Terms {
  /** The name of the rule that decided. */
  readonly rule?: string
}

export interface Settings {
  readonly terms: Terms
  readonly rules: readonly Rule[]
  /** Undefined where no client is limited. */
  readonly quota?: QuotaTerms | undefined
  /** Undefined where the database may be given any number of queries at once. */
  readonly concurrency?: Concurrency | undefined
  /** How answers are cached as a whole; none are without it. */
  readonly whole?: WholeSettings | undefined
  /** Set while running, instead of the mode in `terms`. A rule may be more careful than it, never less. */
  readonly override?: Mode
}

export interface NamedPolicy {
  /** The rule that sets the policy; absent for the policy of the backend itself. */
  readonly rule?: string
  readonly policy: TtlPolicy
}

/** Returns the policy of the backend itself, then those of the rules that set one, in the order of the rules. */
export function policiesOf({ terms, rules }: Settings): readonly NamedPolicy[] {
  const ofRules = rules.flatMap(({ name, terms: { policy } }) =>
    policy === undefined ? [] : [{ rule: name, policy }],
  )
  return [{ policy: terms.policy }, ...ofRules]
}

/**
 * The first rule that matches decides; its absent members default to the backend's. A request for which a rule cannot
 * be evaluated is forwarded uncached.
 */
export function termsFor({ terms, rules, override }: Settings, subject: RuleSubject): RuledTerms {
  if (rules.length === 0) return terms
  let verdict: boolean | undefined = false
  const rule = rules.find((each) => {
    verdict = each.isMatch(subject)
    return verdict !== false
  })
  if (rule === undefined) return terms
  if (verdict === undefined) return { ...terms, mode: 'off', rule: rule.name }
  const own = { ...terms, ...rule.terms, rule: rule.name }
  return override === undefined ? own : { ...own, mode: moreCareful(own.mode, override) }
}

const moreCareful = (a: Mode, b: Mode): Mode => (modes.indexOf(a) < modes.indexOf(b) ? a : b)

export interface ModeState {
  /** The one in force. */
  readonly mode: Mode
  readonly configured: Mode
  readonly isOverridden: boolean
  /** Why it is shadow although another one is configured or set. */
  readonly heldBack?: string
}

export interface ModeRules {
  readonly onChange?: (mode: Mode) => void
  /** Why the mode may not be `on`; undefined where it may. */
  readonly heldBack?: () => string | undefined
}

/** The settings of one database as configured, with a mode that may be set while running, until they are replaced. */
export class ModeSwitch {
  readonly #configured: () => Settings
  readonly #rules: ModeRules
  /** The configured settings when `#inForce` was made. */
  #seen: Settings
  #inForce: Settings
  /** `#inForce` as it is while it is held back. */
  #limited: Settings | undefined

  constructor(configured: () => Settings, rules: ModeRules = {}) {
    this.#configured = configured
    this.#rules = rules
    this.#seen = configured()
    this.#inForce = this.#seen
  }

  /** Called once per request. */
  get settings(): Settings {
    const configured = this.#configured()
    // Other settings are another configuration: overrides end with the one before.
    if (configured !== this.#seen) {
      this.#seen = configured
      this.#apply(configured)
    }
    if (this.#rules.heldBack?.() === undefined) return this.#inForce
    this.#limited ??= shadowedAtMost(this.#inForce)
    return this.#limited
  }

  get state(): ModeState {
    const { mode } = this.settings.terms
    const { terms, override } = this.#inForce
    const heldBack = terms.mode === mode ? undefined : this.#rules.heldBack?.()
    return {
      mode,
      configured: this.#seen.terms.mode,
      isOverridden: override !== undefined,
      ...(heldBack !== undefined && { heldBack }),
    }
  }

  /** Returns the mode that was in force. */
  set(mode: Mode): Mode {
    const was = this.settings.terms.mode
    this.#apply({ ...this.#seen, terms: { ...this.#seen.terms, mode }, override: mode })
    return was
  }

  #apply(settings: Settings): void {
    const was = this.#inForce.terms.mode
    this.#inForce = settings
    this.#limited = undefined
    if (settings.terms.mode !== was) this.#rules.onChange?.(settings.terms.mode)
  }
}

function shadowedAtMost(settings: Settings): Settings {
  const { terms, override = 'shadow' } = settings
  const atMost = (mode: Mode): Mode => moreCareful(mode, 'shadow')
  return { ...settings, terms: { ...terms, mode: atMost(terms.mode) }, override: atMost(override) }
}
