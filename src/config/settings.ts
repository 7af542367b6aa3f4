/** Converts the configuration into the options of the proxy: databases, settings, rules. */
import type { BackendOptions, DatabaseKind } from '../backends/kind.ts'
import { type KindName, kinds } from '../backends/kinds.ts'
import { headerOf } from '../core/headers.ts'
import type { Identity } from '../engine/http/identity.ts'
import type { DatabaseOptions } from '../proxy/assembly/options.ts'
import type { QuotaTerms } from '../proxy/quotas/terms.ts'
import type { Rule, RuleSubject, Settings, Terms } from '../proxy/request/settings.ts'
import { stretched } from '../ttl/stretched.ts'
import { wholeSettingsOf } from './objects-section.ts'
import { policyOf } from './policy-types.ts'
import { hasQuotas, limitOf, type QuotasConfig } from './quotas-section.ts'
import type { BackendConfig, Config, MatcherConfig, RuleConfig } from './schema.ts'

export interface DatabaseParts {
  /** The kind of each database. */
  readonly kindOf: (name: string) => KindName
  /** Called once per request: a reload takes effect with the next one. */
  readonly settings: () => ReadonlyMap<string, Settings>
  /** Which backends; all of them unless given. */
  readonly names?: readonly string[]
}

export function databasesOf(config: Config, parts: DatabaseParts): Promise<DatabaseOptions[]> {
  const first = settingsOf(config)
  const { names = Object.keys(config.backends) } = parts
  const made = names.map(async (name): Promise<DatabaseOptions> => {
    const backend = config.backends[name]!
    const { host, path } = backend.route
    const kind: DatabaseKind = kinds[parts.kindOf(name)]
    const { maxBuckets } = config.limits
    // One that is being added has none yet, and the last requests of one that was removed use those it had.
    let last = first.get(name)!
    const configured = () => {
      last = parts.settings().get(name) ?? last
      return last
    }
    const options: BackendOptions = {
      get settledAgeMs() {
        return configured().terms.policy.settledAgeMs
      },
      maxBuckets,
    }
    const created = (await kind.load()).create(options, backend)
    const { settledAgeMs = 0 } = created.backend.capabilities
    return {
      name,
      ...created,
      upstream: { urls: backend.url, tls: backend.tls, auth: backend.auth, socket: backend.socket },
      settings: withSettledAge(configured, settledAgeMs),
      farStore: backend.store,
      ...(backend.listen !== undefined && { listen: backend.listen }),
      ...((host ?? path) !== undefined && { route: { host: host?.toLowerCase(), path } }),
    }
  })
  return Promise.all(made)
}

/**
 * Settings of a database whose data changes later than policies assume. The same object for the same settings: a change of
 * settings is seen by that.
 */
function withSettledAge(configured: () => Settings, settledAgeMs: number): () => Settings {
  if (settledAgeMs === 0) return configured
  let seen: Settings | undefined
  let changed: Settings
  return () => {
    const settings = configured()
    if (settings !== seen) {
      const rules = settings.rules.map((rule) => ({ ...rule, terms: settledTerms(rule.terms, settledAgeMs) }))
      changed = { ...settings, terms: settledTerms(settings.terms, settledAgeMs), rules }
      seen = settings
    }
    return changed
  }
}

const settledTerms = <T extends Partial<Terms>>(terms: T, settledAgeMs: number): T =>
  terms.policy === undefined ? terms : { ...terms, policy: stretched(terms.policy, settledAgeMs) }

export function settingsOf(config: Config): ReadonlyMap<string, Settings> {
  const quota = hasQuotas(config.quotas) ? quotaOf(config.quotas) : undefined
  return new Map(
    Object.entries(config.backends).map(([name, backend]) => {
      const rules = config.rules
        .map((rule, index) => ({ ...rule, name: rule.name ?? `rules.${index}` }))
        .filter((rule) => (rule.match.backend ?? name) === name)
      const settings = {
        terms: termsOf(config, backend),
        whole: wholeSettingsOf(backend),
        rules: rules.map((rule) => ruleOf(config, rule)),
        quota,
        concurrency: concurrencyOf(backend),
      }
      return [name, settings]
    }),
  )
}

function termsOf(config: Config, backend: BackendConfig): Terms {
  const { mode, maxStaleMs, edges, align } = backend
  return {
    ...{ mode, maxStaleMs, edges, align, trailingEmpty: backend.negative.trailing },
    identity: identityOf(backend),
    policy: policyOf(config.policies[backend.policy]!),
  }
}

function quotaOf(quotas: QuotasConfig): QuotaTerms {
  const { entity, onUnavailable, dryRun, serveStale, multiplier, forwardedCost, limits, resources } = quotas
  const header = /^header:(.*)$/.exec(entity)?.[1]
  return {
    ...{ onUnavailable, multiplier, forwardedCost, isDryRun: dryRun, servesStale: serveStale },
    entity: header === undefined ? (entity as 'identity' | 'address') : { header: header.toLowerCase() },
    base: {
      ...(limits.length > 0 && { system: limits.map(limitOf) }),
      resources: new Map(Object.entries(resources).map(([backend, own]) => [backend, own.map(limitOf)])),
    },
  }
}

const concurrencyOf = ({ concurrency: { limit, queue, waitMs } }: BackendConfig): Settings['concurrency'] =>
  limit === undefined ? undefined : { limit, queue, waitMs }

const identityOf = (given: Pick<BackendConfig, 'identity' | 'identityHeaders'>): Identity =>
  given.identity === 'headers'
    ? { headers: given.identityHeaders.map((name) => name.toLowerCase()) }
    : given.identity

function ruleOf(config: Config, rule: RuleConfig & { readonly name: string }): Rule {
  const { name, policy, maxStaleMs, identity, identityHeaders, edges, align } = rule
  const mode = rule.bypass ? 'off' : rule.mode
  return {
    name,
    terms: {
      ...(mode !== undefined && { mode }),
      ...(policy !== undefined && { policy: policyOf(config.policies[policy]!) }),
      ...(maxStaleMs !== undefined && { maxStaleMs }),
      ...(edges !== undefined && { edges }),
      ...(align !== undefined && { align }),
      ...(identity !== undefined && { identity: identityOf({ identity, identityHeaders }) }),
      ...(!rule.objects && { objects: false }),
    },
    isMatch: (subject) => isMatch(rule.match, subject),
  }
}

/** All that is written must match. Undefined where a text is too long to be matched and nothing else decides. */
function isMatch(
  { path, userAgent, query, headers }: RuleConfig['match'],
  subject: RuleSubject,
): boolean | undefined {
  let verdict: boolean | undefined = true
  const isMet = (condition: MatcherConfig, text: string | undefined): boolean => {
    const found = isFit(condition, text)
    if (found === undefined) verdict = undefined
    return found !== false
  }
  const isPossible =
    isMet(path, subject.path) &&
    isMet(userAgent, headerOf(subject.headers, 'user-agent')) &&
    isMet(query, subject.query) &&
    headers.every(({ name, ...condition }) => {
      const value = headerOf(subject.headers, name.toLowerCase())
      return value !== undefined && isMet(condition, value)
    })
  return isPossible && verdict
}

function isFit({ equals, contains, regex }: MatcherConfig, text: string | undefined): boolean | undefined {
  if (equals !== undefined) return text === equals
  if (contains !== undefined) return text?.includes(contains) === true
  if (regex !== undefined) return text !== undefined && regex.test(text)
  return true
}

/** The options of a server that are in the configuration as they are. */
export const serverOptionsOf = ({ listen, limits, quotas, runtime, tls: { cert, key } }: Config) => ({
  ...{ listen, limits, runtime, quotaStore: quotas.store },
  ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
})

/** The names of the stores of backends, and of the one that counts quotas. */
export const storesInUse = ({ backends, quotas }: Config): ReadonlySet<string> =>
  new Set([...Object.values(backends).map(({ store }) => store), quotas.store])
