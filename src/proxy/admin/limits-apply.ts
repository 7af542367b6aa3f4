/** `/-/limits/apply`: sets the stored limits to those of a declaration, or only reports the changes. */
import { jsonIn } from '../../core/json-object.ts'
import { type Author, authorMistake } from '../../limits/audit.ts'
import {
  type Applied,
  applyPlan,
  type DeclarationPlan,
  type PlanItem,
  planOf,
} from '../../limits/declaration.ts'
import { readDeclaration } from '../../limits/declaration-read.ts'
import { levelOf } from '../../limits/registry-rows.ts'
import { type AdminAnswer, json, mistake } from './answer.ts'
import type { LimitsCall } from './limits.ts'
import type { AdminCall } from './page.ts'

/** One entry of a plan. A parent has the level `parent`. */
export interface PlannedChange extends Pick<PlanItem, 'action' | 'before' | 'after'> {
  readonly level: string
  readonly entity?: string
  readonly resource?: string
}

export interface DeclarationAnswer {
  readonly dryRun: boolean
  readonly changes: readonly PlannedChange[]
  readonly unchanged: number
  /** How many changes were made. */
  readonly changed?: number
  /** Why not all could be made. */
  readonly failure?: string
}

export async function applyDeclaration(call: LimitsCall): Promise<AdminAnswer> {
  const { limits, parameters, access } = call
  const given = jsonIn(call.body)
  if (given === undefined)
    return mistake('the body is not JSON; expected an object with limits, resources, entities')
  const declared = readDeclaration(given)
  if ('mistake' in declared) return mistake(declared.mistake)
  const author = authorOf(call)
  const odd = authorMistake(author.by)
  if (odd !== undefined) return mistake(odd)
  const adopts = parameters.get('adopt') === '1'
  const plan = planOf(declared, await limits.registry.list(), { adopts })
  if (parameters.get('dryRun') === '1') return json(viewOf(plan))
  const applied = await applyPlan(limits.registry, plan, author)
  access.telemetry.log.line('info', 'limits applied', { changed: applied.changed, by: author.by })
  return json(viewOf(plan, applied), applied.failure === undefined ? 200 : 503)
}

export function authorOf({ parameters, request }: AdminCall): Author {
  const from = request.socket.remoteAddress
  return { by: parameters.get('by') ?? 'admin API', ...(from !== undefined && { from }) }
}

function viewOf({ items, unchanged }: DeclarationPlan, applied?: Applied): DeclarationAnswer {
  const failure = applied?.failure
  return {
    dryRun: applied === undefined,
    changes: items.map(viewOfItem),
    unchanged,
    ...(applied && { changed: applied.changed }),
    ...(failure && { failure: `${nameOf(failure.item)}: ${failure.sentence}` }),
  }
}

function viewOfItem({ action, entity, resource, before, after }: PlanItem): PlannedChange {
  const isParent = typeof (after ?? before) === 'string'
  return {
    action,
    level: isParent ? 'parent' : levelOf({ ...(entity && { entity }), ...(resource && { resource }) }),
    ...(entity !== undefined && { entity }),
    ...(resource !== undefined && { resource }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  }
}

const nameOf = ({ entity, resource }: PlanItem): string =>
  [entity, resource].filter((name) => name !== undefined).join(' at ') || 'the system'
