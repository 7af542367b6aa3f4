/** `/-/limits`: the stored limits, their remaining tokens, usage, the audit log, and declarations. */
import type { Clock } from '../../core/clock.ts'
import { type Misread, readLimits } from '../../limits/declaration-read.ts'
import type { LimitEdit } from '../../limits/edit.ts'
import type { EntityStatus } from '../../limits/limit.ts'
import { nameMistake } from '../../limits/names.ts'
import type { ChangeOutcome, LimitRegistry } from '../../limits/registry.ts'
import type { LimitTarget } from '../../limits/registry-rows.ts'
import type { UsageCounter, UsageInWindow, UsageQuery } from '../../limits/usage.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { type AdminAnswer, failure, json, jsonList, mistake } from './answer.ts'
import { applyDeclaration, authorOf } from './limits-apply.ts'
import { auditPage, entriesOf, namesIn, usagePage } from './limits-views.ts'
import type { AdminCall, Page, Pages } from './page.ts'
import { readObject } from './selection.ts'

export interface LimitsAccess {
  /** The limits of clients, their remaining tokens, and their usage; undefined while the configuration has no quotas. */
  readonly limits?: (() => AdminLimits | undefined) | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly telemetry: Pick<Telemetry, 'log'>
}

export interface AdminLimits {
  readonly registry: LimitRegistry
  /** Names of backends; the first is meant where none is named. */
  readonly resources: readonly string[]
  status(entity: string, resource: string): MaybePromise<EntityStatus | undefined>
  /** Counts of this process that are not written yet are written first. */
  readonly usage: Pick<UsageCounter, 'flush'>
  readUsage(query: UsageQuery): Promise<readonly UsageInWindow[]>
}

export interface LimitsCall extends AdminCall {
  readonly limits: AdminLimits
  readonly access: Omit<LimitsAccess, 'limits'>
}

const maxDeclarationBytes = 16 * 1024 * 1024

export function limitPages({ limits, ...access }: LimitsAccess): Pages {
  if (limits === undefined) return {}
  const page = (answer: (call: LimitsCall) => Promise<AdminAnswer>, rest: Omit<Page, 'answer'>): Page => ({
    ...rest,
    answer: (call) => answered(answer, call, { limits: limits(), access }),
  })
  return {
    '/-/limits': page(answer, {
      methods: ['GET', 'PUT', 'DELETE'],
      about:
        'GET lists the stored limits; ?entity= &resource= shows the limits in force and their remaining tokens. PUT {"limits"} or {"parent"} sets, DELETE removes the limits of ?system=1, ?resource=, ?entity= or both; ?by= names the author. Only PUT and DELETE need writes',
      isWriting: (_, method) => method === 'PUT' || method === 'DELETE',
    }),
    '/-/limits/apply': page(applyDeclaration, {
      methods: ['POST'],
      about:
        'sets the limits to a declaration {"limits", "resources", "entities"}; ?dryRun=1 only lists the changes; ?adopt=1 also changes limits that were set in another way; ?by=',
      isWriting: (parameters) => parameters.get('dryRun') !== '1',
      maxBodyBytes: maxDeclarationBytes,
    }),
    '/-/limits/usage': page(usagePage, {
      methods: ['GET'],
      about:
        'permits, refusals and tokens per entity, resource and window; ?window=hour or day &from= &to= &entity= &resource=',
    }),
    '/-/limits/audit': page(auditPage, {
      methods: ['GET'],
      about: 'the audit log of limits, the latest change first; ?entity= &resource= &limit=',
    }),
  }
}

async function answered(
  answer: (call: LimitsCall) => Promise<AdminAnswer>,
  call: AdminCall,
  { limits, access }: { limits: AdminLimits | undefined; access: LimitsCall['access'] },
): Promise<AdminAnswer> {
  if (limits === undefined)
    return mistake('there are no quotas; the section quotas of the configuration has them')
  try {
    return await answer({ ...call, limits, access })
  } catch (error) {
    access.telemetry.log.line('warn', 'the store of the limits failed', { detail: String(error) })
    return failure(503, 'the store of the limits does not answer')
  }
}

function answer(call: LimitsCall): Promise<AdminAnswer> {
  const { method } = call.request
  if (method === 'PUT' || method === 'DELETE') return change(call, method)
  return call.parameters.has('entity') ? inForce(call) : list(call)
}

async function list({ limits, parameters }: LimitsCall): Promise<AdminAnswer> {
  const resource = parameters.get('resource')
  const entries = entriesOf(await limits.registry.list(), limits.registry.base)
  return jsonList(entries.filter((entry) => resource === null || entry.resource === resource))
}

async function inForce({ limits, parameters, access }: LimitsCall): Promise<AdminAnswer> {
  const entity = parameters.get('entity')!
  const resource = parameters.get('resource') ?? limits.resources[0] ?? ''
  const odd = nameMistake('entity', entity) ?? nameMistake('resource', resource)
  if (odd !== undefined) return mistake(odd)
  const [status, resolved] = await Promise.all([
    limits.status(entity, resource),
    limits.registry.resolve(entity, resource),
  ])
  const parent = resolved?.parent
  const named = { entity, resource, ...(parent !== undefined && { parent }) }
  if (status === undefined) return json({ ...named, source: null, limits: [] })
  const ttl = status.ttl === 'none' ? status.ttl : secondsUntil(status.ttl, access.clock.now())
  return json({
    ...named,
    source: status.source,
    limits: status.limits.map(({ limit, available }) => ({ ...limit, available, ttl })),
  })
}

const secondsUntil = (at: number, now: number): number => Math.max(0, Math.ceil((at - now) / 1000))

async function change(call: LimitsCall, method: 'PUT' | 'DELETE'): Promise<AdminAnswer> {
  const target = readTarget(call.parameters)
  if ('mistake' in target) return mistake(target.mistake)
  const edit = method === 'PUT' ? readEdit(call.body, target) : removalOf(call.parameters, target)
  if ('mistake' in edit) return mistake(edit.mistake)
  const author = authorOf(call)
  const outcome = await call.limits.registry.change(edit, author)
  if (!outcome.ok) return refusalOf(outcome)
  if (outcome.isChanged)
    call.access.telemetry.log.line('info', 'limits changed', { ...target, by: author.by })
  return json({ ...target, changed: outcome.isChanged, version: outcome.version })
}

/** The system must be named: an omitted parameter must not mean every client. */
function readTarget(parameters: URLSearchParams): LimitTarget | Misread {
  const target = namesIn(parameters)
  const isNamed = Object.keys(target).length > 0
  if ((parameters.get('system') === '1') === isNamed) {
    return { mistake: 'name the owner of the limits: ?entity=, ?resource=, both, or ?system=1 alone' }
  }
  return target
}

function readEdit(body: Buffer, target: LimitTarget): LimitEdit | Misread {
  const given = readObject(body, ['limits', 'parent'])
  if ('mistake' in given) return given
  const { limits, parent } = given.fields
  if ((limits === undefined) === (parent === undefined)) return { mistake: 'give "limits" or "parent"' }
  if (limits === undefined) {
    return typeof parent === 'string'
      ? { ...target, parent }
      : { mistake: '"parent" is the name of an entity' }
  }
  const read = readLimits(limits, '"limits"')
  return 'mistake' in read ? read : { ...target, limits: read }
}

const removalOf = (parameters: URLSearchParams, target: LimitTarget): LimitEdit =>
  parameters.get('parent') === '1' ? { ...target, parent: null } : { ...target, limits: null }

function refusalOf({ reason, sentence }: Extract<ChangeOutcome, { ok: false }>): AdminAnswer {
  if (reason === 'invalid' || reason === 'too_large') return mistake(sentence)
  return failure(reason === 'unavailable' ? 503 : 409, sentence)
}
