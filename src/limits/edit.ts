/**
 * One change of stored limits or of a parent: its validity, its effect on a row, and its description in the audit log.
 */
import type { AuditRecord, Author } from './audit.ts'
import type { Limit } from './limit.ts'
import { areSameLimits, limitsMistake, nameMistake } from './names.ts'
import {
  type LimitRow,
  type LimitTarget,
  type StoredSet,
  setNameOf,
  targetMistake,
  targetOf,
} from './registry-rows.ts'

/** Changes the limits of a target, or the parent of an entity; null removes them. */
export interface LimitEdit extends LimitTarget {
  readonly limits?: readonly Limit[] | null
  readonly parent?: string | null
  /** Made by a declaration: it does not change limits that others have set, unless it `adopts` them. */
  readonly isManaged?: boolean
  readonly adopts?: boolean
}

export function editMistake(edit: LimitEdit): string | undefined {
  const { limits, parent, entity, resource } = edit
  if ((limits === undefined) === (parent === undefined)) return 'a change is one of limits or of a parent'
  const ofTarget = targetMistake(edit)
  if (ofTarget !== undefined) return ofTarget
  if (limits !== undefined) return limits === null ? undefined : limitsMistake(limits)
  if (entity === undefined || resource !== undefined) return 'a parent belongs to an entity, at all resources'
  if (parent === null) return undefined
  return parent === entity ? 'an entity is not its own parent' : nameMistake('entity', parent)
}

/** The row as the edit makes it; the same object where nothing changes. */
export function editRow(row: LimitRow, edit: LimitEdit): LimitRow | { readonly unmanaged: string } {
  return edit.limits === undefined ? withParent(row, edit) : withLimits(row, edit)
}

function withLimits(row: LimitRow, edit: LimitEdit): LimitRow | { readonly unmanaged: string } {
  const name = setNameOf(edit)
  const current = row.sets.get(name)
  if (isForeign(current, edit)) return { unmanaged: unmanaged('limits') }
  const isManaged = edit.isManaged ?? current?.isManaged ?? false
  const wanted: StoredSet | undefined = edit.limits === null ? undefined : { limits: edit.limits!, isManaged }
  if (isSameSet(current, wanted)) return row
  const sets = new Map(row.sets)
  if (wanted === undefined) sets.delete(name)
  else sets.set(name, wanted)
  return { ...row, sets, version: row.version + 1 }
}

function withParent(row: LimitRow, edit: LimitEdit): LimitRow | { readonly unmanaged: string } {
  const { parent: current, ...rest } = row
  if (isForeign(current, edit)) return { unmanaged: unmanaged('parent') }
  if (edit.parent === null) return current === undefined ? row : { ...rest, version: row.version + 1 }
  const parent = { entity: edit.parent!, isManaged: edit.isManaged ?? current?.isManaged ?? false }
  const isSame = current?.entity === parent.entity && current.isManaged === parent.isManaged
  return isSame ? row : { ...rest, parent, version: row.version + 1 }
}

const isForeign = (current: { readonly isManaged: boolean } | undefined, edit: LimitEdit): boolean =>
  current?.isManaged === false && edit.isManaged === true && edit.adopts !== true

const unmanaged = (what: string): string =>
  `the ${what} were not set by a declaration, and stay as they are unless it adopts them`

const isSameSet = (a: StoredSet | undefined, b: StoredSet | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.isManaged === b.isManaged && areSameLimits(a.limits, b.limits)

export function recordOf(
  edit: LimitEdit,
  { author, before, after }: { author: Author; before: LimitRow; after: LimitRow },
): Omit<AuditRecord, 'at'> {
  const [was, is] =
    edit.limits === undefined
      ? [before.parent?.entity, after.parent?.entity]
      : [before, after].map(({ sets }) => sets.get(setNameOf(edit))?.limits)
  const what = edit.limits === undefined ? 'parent' : 'limits'
  return {
    author,
    action: `${what}_${is === undefined ? 'deleted' : 'set'}`,
    ...targetOf(edit),
    version: after.version,
    ...(was !== undefined && { before: was }),
    ...(is !== undefined && { after: is }),
  }
}
