/**
 * Limits as a declaration defines them, and the changes needed to reach them. Only limits that a declaration has set
 * before are changed or removed: limits set in another way are reported and stay, unless the declaration adopts them.
 */
import type { AuditRecord, Author } from './audit.ts'
import type { LimitEdit } from './edit.ts'
import type { Limit } from './limit.ts'
import { areSameLimits } from './names.ts'
import type { LimitRegistry, ListedRow } from './registry.ts'
import { type LimitTarget, rowIdOf, setNameOf, targetOf } from './registry-rows.ts'

/** Limits of a target, or the parent of an entity. */
export interface Declared extends LimitTarget {
  readonly value: readonly Limit[] | string
}

/**
 * `adopt`: it was set in another way, and is managed from now on. `keep`: it was set in another way, and stays. `delete`: the
 * declaration does not name it any more.
 */
export type PlanAction = 'create' | 'update' | 'delete' | 'adopt' | 'keep'

export interface PlanItem extends LimitTarget, Pick<AuditRecord, 'before' | 'after'> {
  readonly action: PlanAction
}

export interface DeclarationPlan {
  /** Removals first: an entity may lose its parent and become one. */
  readonly items: readonly PlanItem[]
  /** Declared and as they should be. */
  readonly unchanged: number
}

interface Current extends Declared {
  readonly isManaged: boolean
}

export function planOf(
  declared: readonly Declared[],
  rows: readonly ListedRow[],
  { adopts }: { readonly adopts: boolean },
): DeclarationPlan {
  const current = new Map(rows.flatMap(currentIn).map((each) => [keyOf(each), each]))
  const wanted = new Set(declared.map(keyOf))
  const removed = [...current.values()].filter((each) => each.isManaged && !wanted.has(keyOf(each)))
  const items = declared.flatMap((each) => itemFor(each, current.get(keyOf(each)), adopts))
  const deletions = removed.map(
    (each): PlanItem => ({ ...targetOf(each), action: 'delete', before: each.value }),
  )
  return { items: [...deletions, ...items], unchanged: declared.length - items.length }
}

function itemFor(declared: Declared, current: Current | undefined, adopts: boolean): readonly PlanItem[] {
  const target = targetOf(declared)
  const after = declared.value
  if (current === undefined) return [{ ...target, action: 'create', after }]
  const before = current.value
  if (!current.isManaged) return [{ ...target, action: adopts ? 'adopt' : 'keep', before, after }]
  return isSame(before, after) ? [] : [{ ...target, action: 'update', before, after }]
}

function currentIn(row: ListedRow): readonly Current[] {
  const { entity, sets, parent } = row
  const owner = targetOf(row)
  const limits = [...sets].map(([name, { limits: value, isManaged }]) => ({
    ...owner,
    ...(entity !== undefined && name !== setNameOf({ entity }) && { resource: name }),
    ...{ value, isManaged },
  }))
  return parent === undefined
    ? limits
    : [...limits, { ...owner, value: parent.entity, isManaged: parent.isManaged }]
}

const keyOf = (declared: Declared): string =>
  `${rowIdOf(declared).sk}#${typeof declared.value === 'string' ? 'parent' : setNameOf(declared)}`

const isSame = (a: Declared['value'], b: Declared['value']): boolean =>
  typeof a === 'string' || typeof b === 'string' ? a === b : areSameLimits(a, b)

export interface Applied {
  readonly changed: number
  /** Why one could not be changed; those after it were not tried. */
  readonly failure?: { readonly item: PlanItem; readonly sentence: string }
}

/** Makes the changes of a plan, one after the other. */
export async function applyPlan(
  registry: Pick<LimitRegistry, 'change'>,
  { items }: DeclarationPlan,
  author: Author,
): Promise<Applied> {
  let changed = 0
  for (const item of items) {
    if (item.action === 'keep') continue
    const outcome = await registry.change(editOf(item), author)
    // Others may have set it since the plan was made: then it is theirs.
    if (!outcome.ok && outcome.reason !== 'unmanaged')
      return { changed, failure: { item, sentence: outcome.sentence } }
    if (outcome.ok && outcome.isChanged) changed++
  }
  return { changed }
}

function editOf({ action, before, after, ...target }: PlanItem): LimitEdit {
  const value = after ?? before!
  const wanted = action === 'delete' ? null : value
  const change =
    typeof value === 'string'
      ? { parent: wanted as string | null }
      : { limits: wanted as readonly Limit[] | null }
  return { ...target, ...change, isManaged: true, adopts: action === 'adopt' }
}
