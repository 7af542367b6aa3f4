/**
 * Stored limits as cells, all in one partition, so that they can be listed: one row for the system, one per resource,
 * one per entity. The row of an entity has its default limits, its limits per resource, and its parent, so that one
 * read finds all of them. Rows are kept until they are removed: they have no collection time.
 */
import type { Cell, CellDraft, CellId } from '../stores/cells.ts'
import type { Limit, LimitSource } from './limit.ts'
import { anyResource, limitsMistake, nameMistake } from './names.ts'

/** Where limits are set: for an entity, a resource, both (an entity at one resource), or neither (the system). */
export interface LimitTarget {
  readonly entity?: string
  readonly resource?: string
}

/** The target alone, of something that has one. */
export const targetOf = ({ entity, resource }: LimitTarget): LimitTarget => ({
  ...(entity !== undefined && { entity }),
  ...(resource !== undefined && { resource }),
})

/** Whether something belongs to the entity and the resource of a query; one that is absent there stands for all. */
export const isOfTarget = (target: LimitTarget, { entity, resource }: LimitTarget): boolean =>
  (entity === undefined || target.entity === entity) &&
  (resource === undefined || target.resource === resource)

export interface StoredSet {
  readonly limits: readonly Limit[]
  /** It comes from a declaration that was applied: the next one may change or remove it. */
  readonly isManaged: boolean
}

export interface StoredParent {
  readonly entity: string
  readonly isManaged: boolean
}

export interface LimitRow {
  /** Counts the changes of the row. */
  readonly version: number
  /** By resource; `_default_` is for all of them, and the only one in rows of resources and of the system. */
  readonly sets: ReadonlyMap<string, StoredSet>
  readonly parent?: StoredParent
}

export const limitsPk = 'LIMITS'
export const limitsSchema = 1

export function levelOf({ entity, resource }: LimitTarget): Exclude<LimitSource, 'override'> {
  if (entity === undefined) return resource === undefined ? 'system' : 'resource'
  return resource === undefined ? 'entity_default' : 'entity'
}

/** Names must be valid: `#` in one of them could name another row. */
export function rowIdOf({ entity, resource }: LimitTarget): CellId {
  if (entity !== undefined) return { pk: limitsPk, sk: `ENTITY#${entity}` }
  return { pk: limitsPk, sk: resource === undefined ? 'SYSTEM' : `RESOURCE#${resource}` }
}

/** The key of a target's limits in its row. */
export const setNameOf = ({ entity, resource }: LimitTarget): string =>
  entity === undefined ? anyResource : (resource ?? anyResource)

/** Whose row it is; undefined for a row that no version of this program writes. */
export function ownerOf(sk: string): LimitTarget | undefined {
  if (sk === 'SYSTEM') return {}
  if (sk.startsWith('RESOURCE#')) return { resource: sk.slice('RESOURCE#'.length) }
  return sk.startsWith('ENTITY#') ? { entity: sk.slice('ENTITY#'.length) } : undefined
}

export const targetMistake = ({ entity, resource }: LimitTarget): string | undefined =>
  (entity === undefined ? undefined : nameMistake('entity', entity)) ??
  (resource === undefined ? undefined : nameMistake('resource', resource))

export const emptyRow: LimitRow = { version: 0, sets: new Map() }

export const isEmptyRow = ({ sets, parent }: LimitRow): boolean => sets.size === 0 && parent === undefined

export function draftOf(row: LimitRow): CellDraft {
  const sets = [...row.sets].map(([name, { limits, isManaged }]) => [name, limits.map(tupleOf), isManaged])
  const { parent } = row
  const value = { sets, ...(parent && { parent: parent.entity, parentManaged: parent.isManaged }) }
  return {
    ...{ kind: 'limits', v: limitsSchema, clocks: {}, collectAt: 'never' },
    value: Buffer.from(JSON.stringify(value)),
    attributes: { config_version: row.version },
  }
}

const tupleOf = ({ name, capacity, refillAmount, refillPeriodSeconds }: Limit) =>
  [name, capacity, refillAmount, refillPeriodSeconds] as const

/** Limits that this version does not understand are ignored: unreadable limits must not refuse a client. */
export function rowIn(cell: Cell | undefined): LimitRow | undefined {
  if (cell === undefined) return undefined
  try {
    const { sets, parent, parentManaged } = JSON.parse(Buffer.from(cell.value).toString())
    const read = (sets as [string, unknown[][], boolean][]).flatMap(([name, tuples, isManaged]) => {
      const limits = tuples.map(limitOf)
      return limitsMistake(limits) === undefined ? [[name, { limits, isManaged }] as const] : []
    })
    return {
      version: Number(cell.attributes?.['config_version'] ?? 0),
      sets: new Map(read),
      ...(typeof parent === 'string' && { parent: { entity: parent, isManaged: parentManaged === true } }),
    }
  } catch {
    return undefined
  }
}

const limitOf = ([name, capacity, refillAmount, refillPeriodSeconds]: unknown[]): Limit =>
  ({ name, capacity, refillAmount, refillPeriodSeconds }) as Limit
