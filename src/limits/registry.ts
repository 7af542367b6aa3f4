/**
 * The limits that are in force: entity at a resource > entity > resource > system. The first of these levels that has
 * limits replaces all below it. The configuration gives limits of the system and of resources; stored limits of the
 * same level replace them. Changes made through this registry take effect at once here, and elsewhere when the cached
 * row has expired.
 */
import { type Clock, systemClock } from '../core/clock.ts'
import { allOf, andThen, type MaybePromise } from '../core/maybe.ts'
import { type Cell, type CellId, type Cells, unchangedSince } from '../stores/cells.ts'
import { AuditLog, type Author, authorMistake } from './audit.ts'
import { editMistake, editRow, type LimitEdit, recordOf } from './edit.ts'
import type { Limit, LimitResolver, LimitSource, ResolvedLimits } from './limit.ts'
import { anyResource, isEntityLength, nameMistake } from './names.ts'
import {
  draftOf,
  emptyRow,
  isEmptyRow,
  type LimitRow,
  type LimitTarget,
  limitsPk,
  limitsSchema,
  ownerOf,
  rowIdOf,
  rowIn,
  targetOf,
} from './registry-rows.ts'
import { ResolutionCache } from './resolution-cache.ts'

/** Limits from the configuration. */
export interface BaseLimits {
  readonly system?: readonly Limit[]
  readonly resources?: ReadonlyMap<string, readonly Limit[]>
}

export interface RegistryOptions {
  readonly clock?: Clock
  /** Called at every resolution, so that a reload takes effect at once. None by default. */
  readonly base?: () => BaseLimits
  /** How long a row is cached; 60 s by default. 0: every resolution reads. */
  readonly cacheTtlMs?: number
  /** The most entities whose rows are cached; 10 000 by default. */
  readonly maxCached?: number
  /** Called after a change was made, or may have been: other caches in this process are to forget the row. */
  readonly onChange?: ((target: LimitTarget) => MaybePromise<void>) | undefined
}

export type ChangeOutcome =
  | { readonly ok: true; readonly isChanged: boolean; readonly version: number }
  | { readonly ok: false; readonly reason: ChangeRefusal; readonly sentence: string }

/**
 * `unmanaged`: a declaration does not change limits that others have set. `busy`: others were faster each time.
 * `unavailable`: the store failed, and the change may have been made.
 */
export type ChangeRefusal = 'invalid' | 'unmanaged' | 'too_large' | 'busy' | 'unavailable'

export type ListedRow = LimitRow & LimitTarget

const maxAttempts = 5
const maxCachedResources = 1000
const systemKey = 'SYSTEM'

export class LimitRegistry implements LimitResolver {
  readonly audit: AuditLog
  readonly #cells: Cells
  readonly #base: () => BaseLimits
  readonly #onChange: NonNullable<RegistryOptions['onChange']>
  readonly #entities: ResolutionCache<LimitRow>
  readonly #resources: ResolutionCache<LimitRow>
  readonly #system: ResolutionCache<LimitRow>
  #changes = 0

  constructor(cells: Cells, options: RegistryOptions = {}) {
    const { clock = systemClock, base = () => ({}), cacheTtlMs: ttlMs = 60_000, maxCached = 10_000 } = options
    this.audit = new AuditLog(cells, clock)
    this.#cells = cells
    this.#base = base
    this.#onChange = options.onChange ?? (() => {})
    const common = { clock, ttlMs }
    this.#entities = new ResolutionCache({
      ...{ ...common, maxEntries: maxCached },
      read: (entity) => (nameMistake('entity', entity) === undefined ? this.#read({ entity }) : undefined),
    })
    this.#resources = new ResolutionCache({
      ...{ ...common, maxEntries: maxCachedResources },
      read: (resource) =>
        nameMistake('resource', resource) === undefined ? this.#read({ resource }) : undefined,
    })
    this.#system = new ResolutionCache({ ...common, maxEntries: 1, read: () => this.#read({}) })
  }

  /** How many changes are known here. */
  get changes(): number {
    return this.#changes
  }

  /** At once where the rows are known. Rejects where the store fails and they never were. */
  resolve(
    entity: string,
    resource: string,
    base: BaseLimits = this.#base(),
  ): MaybePromise<ResolvedLimits | undefined> {
    const own = isEntityLength(entity) ? this.#entities.get(entity) : undefined
    const ofResource = this.#resources.get(resource)
    const system = this.#system.get(systemKey)
    return andThen(allOf([own, ofResource, system]), (rows) => pick(resource, rows, base))
  }

  /** Everything that is stored, the system first, then resources and entities by name. Rejects where the store fails. */
  async list(): Promise<readonly ListedRow[]> {
    const rows = await this.#cells.list(limitsPk, limitsSchema)
    const read = rows.flatMap(([sk, cell]) => {
      const [owner, row] = [ownerOf(sk), rowIn(cell)]
      return owner === undefined || row === undefined ? [] : [{ ...owner, ...row }]
    })
    return read.sort((a, b) => rankOf(a) - rankOf(b))
  }

  /** The limits of the configuration, which stored limits override. */
  get base(): BaseLimits {
    return this.#base()
  }

  /** Makes a change that is wanted whatever is there now, and writes down who made it. */
  async change(edit: LimitEdit, author: Author): Promise<ChangeOutcome> {
    const mistake = editMistake(edit) ?? authorMistake(author.by) ?? (await this.#parentMistake(edit))
    if (mistake !== undefined) return { ok: false, reason: 'invalid', sentence: mistake }
    try {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const outcome = await this.#tryChange(edit, author)
        if (outcome !== 'lost') return outcome
      }
    } catch {
      this.forget(edit)
      await this.#onChange(targetOf(edit))
      return { ok: false, reason: 'unavailable', sentence: notStored }
    }
    return { ok: false, reason: 'busy', sentence: 'others keep changing the same limits: try again' }
  }

  /** `lost`: the row was changed in between. */
  async #tryChange(edit: LimitEdit, author: Author): Promise<ChangeOutcome | 'lost'> {
    const id = rowIdOf(edit)
    const cell = await this.#cells.get(id, limitsSchema)
    const before = rowIn(cell) ?? emptyRow
    const after = editRow(before, edit)
    if ('unmanaged' in after) return { ok: false, reason: 'unmanaged', sentence: after.unmanaged }
    if (after === before) return { ok: true, isChanged: false, version: before.version }
    const audited = await this.audit.write(recordOf(edit, { author, before, after }))
    if (audited === undefined) return { ok: false, reason: 'unavailable', sentence: notAudited }
    const stored = await this.#store(id, after, cell)
    if (stored === 'ok') {
      this.#remember(edit, isEmptyRow(after) ? undefined : after)
      await this.#onChange(targetOf(edit))
      return { ok: true, isChanged: true, version: after.version }
    }
    await this.audit.withdraw(audited)
    if (stored === 'lost') return 'lost'
    return { ok: false, reason: 'too_large', sentence: tooLarge }
  }

  async #store(id: CellId, row: LimitRow, cell: Cell | undefined): Promise<'ok' | 'lost' | 'too_large'> {
    if (isEmptyRow(row)) return (await this.#cells.remove(id, unchangedSince(cell?.rev))) ? 'ok' : 'lost'
    const outcome = await this.#cells.put(id, draftOf(row), unchangedSince(cell?.rev))
    if (outcome.ok) return 'ok'
    if (outcome.reason === 'unavailable')
      throw new Error('the store does not report the result of the change')
    return outcome.reason === 'condition' ? 'lost' : 'too_large'
  }

  /** There are two generations: the limits of a parent's parent would never be applied. */
  async #parentMistake({ parent }: LimitEdit): Promise<string | undefined> {
    if (parent === undefined || parent === null) return undefined
    try {
      const row = rowIn(await this.#cells.get(rowIdOf({ entity: parent }), limitsSchema))
      return row?.parent && `${parent} has a parent itself (${row.parent.entity}): only one is taken`
    } catch {
      // The change itself will meet the same store.
      return undefined
    }
  }

  #read(owner: LimitTarget): MaybePromise<LimitRow | undefined> {
    return andThen(this.#cells.get(rowIdOf(owner), limitsSchema), rowIn)
  }

  #remember({ entity, resource }: LimitEdit, row: LimitRow | undefined): void {
    this.#changes++
    if (entity !== undefined) this.#entities.set(entity, row)
    else if (resource !== undefined) this.#resources.set(resource, row)
    else this.#system.set(systemKey, row)
  }

  /** The next resolution reads the row of a target. */
  forget({ entity, resource }: LimitTarget): void {
    this.#changes++
    if (entity !== undefined) this.#entities.forget(entity)
    else if (resource !== undefined) this.#resources.forget(resource)
    else this.#system.forget(systemKey)
  }
}

const rankOf = ({ entity, resource }: ListedRow): number =>
  entity !== undefined ? 2 : resource !== undefined ? 1 : 0

const notStored =
  'the store failed: the change may have been made or not; look at the limits before trying again'
const notAudited = 'the store could not keep the audit row, so nothing was changed'
const tooLarge = 'the store cannot hold this many limits of one entity'

function pick(
  resource: string,
  [own, ofResource, system]: readonly (LimitRow | undefined)[],
  base: BaseLimits,
): ResolvedLimits | undefined {
  const parent = own?.parent?.entity
  const found = (source: LimitSource, limits: readonly Limit[] | undefined) =>
    limits && (parent === undefined ? { source, limits } : { source, limits, parent })
  return (
    found('entity', own?.sets.get(resource)?.limits) ??
    found('entity_default', own?.sets.get(anyResource)?.limits) ??
    found('resource', ofResource?.sets.get(anyResource)?.limits ?? base.resources?.get(resource)) ??
    found('system', system?.sets.get(anyResource)?.limits ?? base.system)
  )
}
