/** The semantics of the operations on cells, as pure functions of the stored row: engines only fetch and store. */
import type { EpochMs } from '../core/clock.ts'
import { reservedNames } from './cell-names.ts'
import type {
  Cell,
  CellAttributes,
  CellDraft,
  CellId,
  CellRefusal,
  Change,
  Condition,
  Deadline,
  PublishOutcome,
  PutOutcome,
  Revision,
} from './cells.ts'

/** Both texts together, in UTF-8: the keys of every engine can hold this. */
const maxIdBytes = 400
const maxKindLength = 64
/** The limit of the narrowest engine for one transaction. */
const maxChanges = 100

export const isCollected = ({ collectAt }: Pick<Cell, 'collectAt'>, now: EpochMs): boolean =>
  collectAt !== 'never' && collectAt * 1000 <= now

/** The row as a reader who knows schema `v` may see it. */
export const visible = (cell: Cell | undefined, v: number, now: EpochMs): Cell | undefined =>
  cell === undefined || cell.v !== v || isCollected(cell, now) ? undefined : cell

const hasPassed = (cell: Cell, deadline: Deadline, now: EpochMs): boolean =>
  (cell.clocks[deadline] ?? Number.NEGATIVE_INFINITY) <= now

/** `cell` is the visible row; see `visible`. */
function isMet(condition: Condition, cell: Cell | undefined, now: EpochMs): boolean {
  if (condition.is === 'absent') return cell === undefined
  if (condition.is === 'expired') return cell === undefined || hasPassed(cell, condition.deadline, now)
  if (cell === undefined || cell.rev !== condition.rev) return false
  return condition.before === undefined || !hasPassed(cell, condition.before, now)
}

export function refusalOfId({ pk, sk }: CellId): CellRefusal | undefined {
  if (pk === '' || sk === '' || pk.includes('\0') || sk.includes('\0')) return 'id'
  // A UTF-16 unit takes at most 3 bytes: most ids need not be measured.
  if (3 * (pk.length + sk.length) <= maxIdBytes) return undefined
  return Buffer.byteLength(pk) + Buffer.byteLength(sk) > maxIdBytes ? 'id' : undefined
}

/** Why a draft cannot be stored whatever is there, or undefined. */
function refusalOfDraft(draft: CellDraft, maxValueBytes: number): CellRefusal | undefined {
  if (draft.value.byteLength > maxValueBytes || draft.kind.length > maxKindLength) return 'too_large'
  if (!haveOrder(draft)) return 'clocks'
  return areFlat(draft.attributes ?? {}) ? undefined : 'attributes'
}

const maxAttributes = 32
const maxAttributeLength = 1024

function areFlat(attributes: CellAttributes): boolean {
  const entries = Object.entries(attributes)
  return entries.length <= maxAttributes && entries.every(([name, value]) => isFlat(name, value))
}

function isFlat(name: string, value: string | number): boolean {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(name) || reservedNames.has(name)) return false
  return typeof value === 'string' ? value.length <= maxAttributeLength : Number.isSafeInteger(value)
}

function haveOrder({ clocks, collectAt }: CellDraft): boolean {
  if (collectAt !== 'never' && !(Number.isSafeInteger(collectAt) && collectAt > 0)) return false
  const end = collectAt === 'never' ? Number.POSITIVE_INFINITY : collectAt * 1000
  const chain = [clocks.freshUntil, clocks.staleUntil, clocks.errorUntil].filter((at) => at !== undefined)
  const isAscending = [...chain, end].every((at, i, all) => i === 0 || all[i - 1]! <= at)
  return isAscending && (clocks.leaseUntil ?? Number.NEGATIVE_INFINITY) <= end
}

export interface Rows {
  readonly now: EpochMs
  readonly maxValueBytes: number
  /** The row that is stored, collected or not. */
  stored(id: CellId): Cell | undefined
  /** Returns its revision. */
  store(id: CellId, row: Omit<Cell, 'rev'>): Revision
  drop(id: CellId): void
}

/** Runs inside whatever makes the engine's operations atomic: everything is checked before anything is changed. */
export function publishOn(rows: Rows, changes: readonly Change[]): PublishOutcome {
  const failed = changes.findIndex((_, i) => refusalOf(rows, changes, i) !== undefined)
  if (failed >= 0) return { ok: false, reason: refusalOf(rows, changes, failed)!, failed }
  const revs = changes.map((change) => {
    if ('put' in change) return rows.store(change.id, change.put)
    rows.drop(change.id)
    return undefined
  })
  return { ok: true, revs }
}

function refusalOf(rows: Rows, changes: readonly Change[], index: number): CellRefusal | undefined {
  if (index >= maxChanges) return 'too_large'
  const change = changes[index]!
  if (change.id.pk !== changes[0]!.id.pk) return 'partition'
  const first = changes.findIndex(({ id }) => id.pk === change.id.pk && id.sk === change.id.sk)
  if (first !== index) return 'duplicate'
  const refusal = refusalOfId(change.id)
  if (refusal !== undefined) return refusal
  if ('put' in change) {
    const bad = refusalOfDraft(change.put, rows.maxValueBytes)
    if (bad !== undefined) return bad
  }
  return isMet(change.if, seen(rows, change), rows.now) ? undefined : 'condition'
}

/** To a writer of one schema, a row of another is absent; a removal looks at whatever is there. */
function seen(rows: Rows, change: Change): Cell | undefined {
  const stored = rows.stored(change.id)
  return visible(stored, 'put' in change ? change.put.v : (stored?.v ?? 0), rows.now)
}

/** A refusal shows the row that is there. */
export function putOn(rows: Rows, change: Extract<Change, { readonly put: CellDraft }>): PutOutcome {
  const outcome = publishOn(rows, [change])
  if (outcome.ok) return { ok: true, rev: outcome.revs[0]! }
  const { id, put } = change
  const current = refusalOfId(id) === undefined ? visible(rows.stored(id), put.v, rows.now) : undefined
  return { ok: false, reason: outcome.reason, ...(current === undefined ? {} : { current }) }
}

export function removeFrom(rows: Rows, id: CellId, condition: Condition): boolean {
  if (refusalOfId(id) !== undefined || rows.stored(id) === undefined) return false
  return publishOn(rows, [{ id, remove: true, if: condition }]).ok
}
