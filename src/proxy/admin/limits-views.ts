/** Lists of limits, usage and changes as the admin listener shows them. */

import { iso } from '../../core/text.ts'
import type { Limit } from '../../limits/limit.ts'
import type { BaseLimits, ListedRow } from '../../limits/registry.ts'
import { type LimitTarget, levelOf, setNameOf } from '../../limits/registry-rows.ts'
import { maxUsageWindows, type UsageInWindow, type UsageQuery } from '../../limits/usage.ts'
import { type UsageKind, usageKinds, windowMs } from '../../limits/usage-window.ts'
import { type AdminAnswer, jsonList, mistake } from './answer.ts'
import type { LimitsCall } from './limits.ts'
import { readTime, timeForms } from './time.ts'

/** One entry of the list. An entry of the level `parent` has `parent` in the place of `limits`. */
export interface LimitEntry {
  readonly level: string
  readonly entity?: string
  readonly resource?: string
  readonly limits?: readonly Limit[]
  readonly parent?: string
  /** Where it is set. Of the configuration: it is not in force where the store has limits of the same level. */
  readonly from: 'store' | 'configuration'
  /** Whether a declaration has set it. */
  readonly managed?: boolean
  readonly version?: number
}

export const entriesOf = (rows: readonly ListedRow[], base: BaseLimits): readonly LimitEntry[] => [
  ...(base.system ? [{ level: 'system', limits: base.system, from: 'configuration' } as const] : []),
  ...[...(base.resources ?? [])].map(
    ([resource, limits]) => ({ level: 'resource', resource, limits, from: 'configuration' }) as const,
  ),
  ...rows.flatMap(entriesIn),
]

function entriesIn({ entity, resource, sets, parent, version }: ListedRow): readonly LimitEntry[] {
  const common = { from: 'store', version } as const
  const owner = { ...(entity !== undefined && { entity }), ...(resource !== undefined && { resource }) }
  const limits = [...sets].map(([name, set]) => {
    const target = entity !== undefined && name !== setNameOf({ entity }) ? { entity, resource: name } : owner
    return { level: levelOf(target), ...target, limits: set.limits, managed: set.isManaged, ...common }
  })
  if (parent === undefined) return limits
  return [
    ...limits,
    { level: 'parent', ...owner, parent: parent.entity, managed: parent.isManaged, ...common },
  ]
}

export async function auditPage({ limits, parameters }: LimitsCall): Promise<AdminAnswer> {
  const limit = Number(parameters.get('limit') ?? 100)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxAudited)
    return mistake(`limit is a whole number from 1 to ${maxAudited}`)
  const records = await limits.registry.audit.list({ ...namesIn(parameters), limit })
  return jsonList(records.map(({ at, author, ...rest }) => ({ at: iso(at), ...author, ...rest })))
}

const maxAudited = 10_000

export const namesIn = (parameters: URLSearchParams): LimitTarget => {
  const [entity, resource] = [parameters.get('entity'), parameters.get('resource')]
  return { ...(entity !== null && { entity }), ...(resource !== null && { resource }) }
}

export async function usagePage({ limits, parameters, access }: LimitsCall): Promise<AdminAnswer> {
  const query = readUsageQuery(parameters, access.clock.now())
  if ('mistake' in query) return mistake(query.mistake)
  await limits.usage.flush()
  return jsonList((await limits.readUsage(query)).map(viewOfUsage))
}

function readUsageQuery(parameters: URLSearchParams, now: number): UsageQuery | { readonly mistake: string } {
  const kind = (parameters.get('window') ?? 'hour') as UsageKind
  if (!usageKinds.includes(kind)) return { mistake: `window is ${usageKinds.join(' or ')}` }
  const to = readTime(parameters.get('to') ?? 'now', now)
  const from = readTime(parameters.get('from') ?? (kind === 'hour' ? '-1d' : '-4w'), now)
  if (from === undefined || to === undefined) return { mistake: `from and to are times: ${timeForms}` }
  if (from > to) return { mistake: 'from must not lie after to' }
  if ((to - from) / windowMs[kind] > maxUsageWindows)
    return { mistake: `request at most ${maxUsageWindows} windows at once, by from and to` }
  // The window that `to` lies in counts too.
  return { kind, from, to: to + 1, ...namesIn(parameters) }
}

export type UsageView = ReturnType<typeof viewOfUsage>

const viewOfUsage = ({ start, tokens, ...rest }: UsageInWindow) => ({
  start: iso(start),
  ...rest,
  tokens: Object.fromEntries(tokens),
})
