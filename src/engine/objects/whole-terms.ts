/** How long answers that are cached as a whole may be used: from a backend's endpoints, and from the configuration. */
import type { WireRequest } from '../../backends/backend.ts'
import type { EndpointTerms, WholeAnswers, WholePlan } from '../../backends/whole-answers.ts'
import type { EpochMs } from '../../core/clock.ts'
import { fingerprintOf, maskForm } from '../../core/secrets.ts'
import type { ObjectTerms } from './objects.ts'
import { longestSeconds } from './revalidate-budget.ts'

/** Absent settings default to the backend's. */
export interface EndpointSettings extends Readonly<Partial<Record<keyof ObjectTerms, number | undefined>>> {
  readonly enabled: boolean
  /** See `WholeRequest`. */
  readonly staleness?: number | undefined
}

/** Further paths whose answers to GET are cached. */
export interface PathSettings extends EndpointSettings {
  /** The whole path, or, with a `*` at its end, its beginning. */
  readonly path: string
}

export interface WholeSettings {
  readonly endpoints: Readonly<Record<string, EndpointSettings>>
  readonly paths: readonly PathSettings[]
  /** How far the time of an instant query may lie behind the requested one; 0: not at all. */
  readonly instantWithinMs: number
}

export const usualWholeSettings: WholeSettings = { endpoints: {}, paths: [], instantWithinMs: 0 }

/** The endpoint of paths that only the configuration knows. */
const pathEndpoint = 'path'

const pathTerms: EndpointTerms = {
  meaning: 'paths of `objects.paths`',
  revalidateSeconds: 60,
  staleWhileRevalidateSeconds: 0,
  staleIfErrorSeconds: 'maxStale',
}

const weekSeconds = 7 * 86_400

/** Which answers of one database are cached as a whole, and how. */
export class WholeRules {
  readonly settings: WholeSettings
  readonly #answers: WholeAnswers | undefined

  constructor(answers: WholeAnswers | undefined, settings: WholeSettings) {
    this.#answers = answers
    this.settings = settings
  }

  /** Whether `plan` may return a plan: called before the body of a request is read. */
  claims(method: string, path: string): boolean {
    return (
      this.#answers?.claims(method, path) === true || (method === 'GET' && this.#pathOf(path) !== undefined)
    )
  }

  /**
   * The backend takes precedence over the configuration. Undefined where the answer may not be cached, or is not to be.
   */
  plan(wire: WireRequest, now: EpochMs): WholePlan | undefined {
    const plan = this.#answers?.plan(wire, now) ?? this.#planPath(wire)
    return plan !== undefined && this.settings.endpoints[plan.endpoint]?.enabled !== false ? plan : undefined
  }

  termsOf(plan: WholePlan, maxStaleMs: number): Required<ObjectTerms> {
    const { endpoint } = plan
    const usual = endpoint === pathEndpoint ? pathTerms : this.#answers!.endpoints[endpoint]!
    return termsFrom(usual, this.#settingsOf(plan), maxStaleMs)
  }

  /** Undefined where the terms define how long an answer is fresh. */
  stalenessOf(plan: WholePlan): number | undefined {
    return this.#settingsOf(plan)?.staleness
  }

  #settingsOf({ endpoint, request }: WholePlan): EndpointSettings | undefined {
    return endpoint === pathEndpoint ? this.#pathOf(request.path) : this.settings.endpoints[endpoint]
  }

  /** How long after it was generated any answer may be used, but for `maxStale`: marks must be kept as long. */
  get longestUseMs(): number {
    const endpoints = Object.entries(this.#answers?.endpoints ?? {})
    return Math.max(
      0,
      ...endpoints.map(([name, usual]) => longestUse(usual, this.settings.endpoints[name])),
      ...this.settings.paths.map((own) => longestUse(pathTerms, own)),
    )
  }

  #planPath(wire: WireRequest): WholePlan | undefined {
    const isEligible =
      wire.method === 'GET' && wire.body.length === 0 && this.#pathOf(wire.path) !== undefined
    if (!isEligible) return undefined
    // Texts are shown and stored: of an access token only a fingerprint is part of them.
    const text = JSON.stringify([wire.path, ...maskForm(wire.search, fingerprintOf).split('&')])
    return { endpoint: pathEndpoint, text, sources: [], knowsAllSources: false, request: wire }
  }

  #pathOf(path: string): PathSettings | undefined {
    return this.settings.paths.find((each) => each.enabled && isAt(each.path, path))
  }
}

const isAt = (given: string, path: string): boolean =>
  given.endsWith('*') ? path.startsWith(given.slice(0, -1)) : path === given

/** Milliseconds. */
function longestUse(usual: EndpointTerms, own: EndpointSettings | undefined): number {
  const { revalidateSeconds, staleWhileRevalidateSeconds, staleIfErrorSeconds } = termsFrom(usual, own, 1)
  const learned = own?.staleness === undefined ? 0 : longestSeconds
  const stale = Math.max(staleWhileRevalidateSeconds, staleIfErrorSeconds)
  return 1000 * (Math.max(revalidateSeconds, learned) + stale)
}

function termsFrom(
  usual: EndpointTerms,
  own: EndpointSettings | undefined,
  maxStaleMs: number,
): Required<ObjectTerms> {
  const maxStale = maxStaleMs / 1000
  const usualIfError = usual.staleIfErrorSeconds === 'maxStale' ? maxStale : usual.staleIfErrorSeconds
  // Without stale answers there are no old lists either.
  const staleIfErrorSeconds = maxStale === 0 ? 0 : (own?.staleIfErrorSeconds ?? usualIfError)
  return {
    revalidateSeconds: own?.revalidateSeconds ?? usual.revalidateSeconds,
    staleWhileRevalidateSeconds: own?.staleWhileRevalidateSeconds ?? usual.staleWhileRevalidateSeconds,
    staleIfErrorSeconds,
    retentionSeconds: own?.retentionSeconds ?? weekSeconds,
  }
}
