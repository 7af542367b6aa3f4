/** `POST /-/explain`: reads the request to explain, explains it and, where requested, runs it. */
import type { IncomingMessage } from 'node:http'
import type { Flavour, Plan, WireRequest } from '../../backends/backend.ts'
import type { WholePlan } from '../../backends/whole-answers.ts'
import { type Fields, isObject } from '../../core/json-object.ts'
import { validateHeaderName, validateHeaderValue } from '../../core/node-http.ts'
import { type Explanation, explainBypass } from '../../engine/explain/explain.ts'
import { explainWhole } from '../../engine/explain/explain-whole.ts'
import { shownQuery } from '../../engine/explain/shown-query.ts'
import { readDemands } from '../../engine/http/demands.ts'
import { identityOf } from '../../engine/http/identity.ts'
import { planRequest } from '../../engine/http/plan-request.ts'
import type { IntervalCache } from '../../engine/interval-cache.ts'
import { WholeRules } from '../../engine/objects/whole-terms.ts'
import { rewritePlan } from '../../engine/rewrites.ts'
import type { Demands } from '../../engine/trip.ts'
import { readTarget } from '../request/incoming.ts'
import { termsFor } from '../request/settings.ts'
import type { WholeOptions } from '../request/whole.ts'

/** The parts of one database that a request would meet. */
export interface ExplainParts extends Omit<WholeOptions, 'flavour'> {
  /** Only the known flavour: the database is not queried. */
  readonly flavour: { readonly current: Flavour }
  readonly cache: Pick<IntervalCache, 'explain'>
  /** Why the mode is shadow although another one is configured. */
  readonly heldBack?: () => string | undefined
}

/** The steps of Handler, without their effects. */
export async function explainWire(parts: ExplainParts, wire: WireRequest): Promise<Explanation> {
  const { backend, flavour } = parts
  const now = parts.clock.now()
  const { whole: settings } = parts.settings()
  const rules =
    settings === undefined || parts.whole === undefined ? undefined : new WholeRules(backend.whole, settings)
  if (!backend.claims(wire.method, wire.path) && rules?.claims(wire.method, wire.path) !== true)
    return explainBypass({ bypass: 'not_a_range_query' }, now)
  const demands = readDemands(wire.headers, now)
  const plan = demands.noStore
    ? { bypass: 'no_store' as const }
    : planRequest({ backend, now, flavour: () => flavour.current }, wire)
  if ('bypass' in plan) {
    const kept = demands.noStore || !flavour.current.isKnown ? undefined : rules?.plan(wire, now)
    if (kept !== undefined) return explainKept(parts, { plan: kept, rules: rules!, demands })
    return demands.onlyIfCached
      ? { outcome: 'refused', reason: 'only_if_cached', now, sentence: neverStored }
      : explainBypass(plan, now, backend.presentation?.reasons)
  }
  const subject = { ...wire, query: plan.text }
  const terms = termsFor(parts.settings(), subject)
  const { mode, policy, maxStaleMs, identity: partition, rule } = terms
  const ruled = rule === undefined ? {} : { rule }
  if (mode === 'off') return { ...explainBypass({ bypass: 'switched_off' }, now), ...ruled }
  const identity = identityOf(wire.headers, partition)
  const answered = mode === 'on' ? rewritePlan(backend, plan, { terms, now }) : plan
  const request = { plan: answered, identity, partition, demands, policy, maxStaleMs }
  const explanation = await parts.cache.explain(request)
  return { ...(mode === 'shadow' ? shadowed(explanation, plan, parts.heldBack?.()) : explanation), ...ruled }
}

/** The steps of WholeRequests, without their effects. */
async function explainKept(
  parts: ExplainParts,
  {
    plan,
    rules,
    demands,
  }: { readonly plan: WholePlan; readonly rules: WholeRules; readonly demands: Demands },
): Promise<Explanation> {
  const now = parts.clock.now()
  const { headers } = plan.request
  const terms = termsFor(parts.settings(), { ...plan.request, query: plan.query ?? plan.text })
  const ruled = terms.rule === undefined ? {} : { rule: terms.rule }
  if (terms.mode === 'off') return { ...explainBypass({ bypass: 'switched_off' }, now), ...ruled }
  if (terms.mode === 'shadow' || terms.objects === false)
    return {
      ...explainBypass({ bypass: 'not_a_range_query', detail: 'whole answers are switched off here' }, now),
      ...ruled,
    }
  const request = {
    ...{ plan, demands, partition: terms.identity, identity: identityOf(headers, terms.identity) },
    ...{ terms: rules.termsOf(plan, terms.maxStaleMs), withinMs: rules.settings.instantWithinMs },
  }
  return { ...(await explainWhole(parts.whole!, request, now)), ...ruled }
}

/** The same, except that the database is queried for everything and that its answer is the client's. */
function shadowed({ joined: _, ...explanation }: Explanation, plan: Plan, heldBack?: string): Explanation {
  const why = heldBack === undefined ? '' : ` (${heldBack})`
  return {
    ...explanation,
    outcome: 'bypass',
    reason: 'shadow',
    detail: `would be ${explanation.outcome}`,
    ...(explanation.window && { asked: { ...explanation.window, ...shownQuery(plan.request) } }),
    sentence: `Shadow${why}: the request would be forwarded unchanged, and the client would get the database's answer; ${plan.isVerbatim ? compared : notCompared}. Switched on: ${explanation.sentence}`,
  }
}

const compared = 'the answer of the cache is compared with it'
const notCompared = 'it holds less than its buckets do, or in another order, and cannot be compared'

const neverStored = 'Refused: the client accepts only a stored answer, and this is never stored.'

/** These are between the operator and this listener; the request that is explained has its own. */
const ours = new Set([
  'accept',
  'accept-encoding',
  'authorization',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'origin',
  'referer',
])

/** The path that a query is meant for which names none. */
type PathOf = (body: string) => string

const formType = 'application/x-www-form-urlencoded'
const jsonType = 'application/json'

/**
 * The request to explain. A JSON object of method, path, search, headers, body and nothing else is a whole request. Any
 * other body is that of a query, with the headers of this request except the headers for this listener.
 */
export function readExplained(
  message: IncomingMessage,
  body: Buffer,
  pathOf: PathOf,
): WireRequest | { readonly mistake: string } {
  const text = body.toString()
  const type = typeOf(message, text)
  if (/^application\/json\b/i.test(type)) {
    const given = readObject(text)
    if ('mistake' in given) return given
    if (isEnvelope(given.fields)) return readEnvelope(given.fields, pathOf)
  }
  const headers = ['content-type', type]
  const all = readTarget(message)?.headers ?? []
  for (let i = 0; i < all.length; i += 2) if (!ours.has(all[i]!)) headers.push(all[i]!, all[i + 1]!)
  const wire = { method: 'POST', path: pathOf(text), search: '', headers, body }
  return mistakeIn(wire) ?? wire
}

/** Tools that send a text label it a form by default; no form begins like an object. */
function typeOf({ headers }: IncomingMessage, text: string): string {
  const type = headers['content-type'] ?? formType
  return type.startsWith(formType) && text.trimStart().startsWith('{') ? jsonType : type
}

function readObject(text: string): { readonly fields: Fields } | { readonly mistake: string } {
  try {
    const fields: unknown = JSON.parse(text)
    if (isObject(fields)) return { fields }
    return { mistake: 'the body must be an object: a query, or method, path, search, headers, body' }
  } catch (error) {
    return { mistake: `the body is not JSON: ${(error as Error).message}` }
  }
}

const envelopeNames = ['method', 'path', 'search', 'headers', 'body']

const isEnvelope = (fields: Fields): boolean =>
  Object.keys(fields).every((name) => envelopeNames.includes(name))

function readEnvelope(fields: Fields, pathOf: PathOf): WireRequest | { readonly mistake: string } {
  const { search = '', body: text = '', headers = {} } = fields
  const { method = text === '' ? 'GET' : 'POST', path = pathOf(typeof text === 'string' ? text : '') } =
    fields
  const texts = [method, path, search, text, ...Object.values(headers ?? {})]
  if (typeof headers !== 'object' || !texts.every((value) => typeof value === 'string')) {
    return { mistake: 'method, path, search, body and the values of headers must be strings' }
  }
  const wire = {
    method: String(method).toUpperCase(),
    path: String(path),
    search: String(search).replace(/^\?/, ''),
    headers: Object.entries(headers ?? {}).flatMap(([name, value]) => [name.toLowerCase(), value as string]),
    body: Buffer.from(String(text)),
  }
  return mistakeIn(wire) ?? wire
}

/** A request that no client could send has no explanation. */
function mistakeIn({ method, path, search, headers }: WireRequest): { readonly mistake: string } | undefined {
  if (!/^[A-Z-]+$/.test(method)) return { mistake: 'the method is not one of HTTP' }
  if (!/^\/[!"$->@-~]*$/.test(path)) return { mistake: 'the path must begin with / and be escaped' }
  if (!/^[!"$-~]*$/.test(search)) return { mistake: 'search must be escaped, as in a URL' }
  try {
    for (let i = 0; i < headers.length; i += 2) {
      validateHeaderName(headers[i]!)
      validateHeaderValue(headers[i]!, headers[i + 1]!)
    }
    return undefined
  } catch (error) {
    return { mistake: `headers: ${(error as Error).message}` }
  }
}
