/**
 * The audit log of limits: author, time, change and previous value. A row is written before the change is made, and
 * removed where the change was not made: a change without its row cannot happen. Where the process ends in between, or
 * the store does not report the result of a change, the row stays. Rows are kept for 90 days, in one partition per
 * month.
 */
import type { Clock, EpochMs } from '../core/clock.ts'
import { dayMs } from '../core/iso.ts'
import { fieldsIn } from '../core/json-object.ts'
import { newUuid } from '../core/uuid.ts'
import { type Cell, type CellId, type Cells, whateverIsThere } from '../stores/cells.ts'
import type { Limit } from './limit.ts'
import { isOfTarget, type LimitTarget } from './registry-rows.ts'

export const auditActions = ['limits_set', 'limits_deleted', 'parent_set', 'parent_deleted'] as const
export type AuditAction = (typeof auditActions)[number]

/** The author of a change. The name is given by the client and not verified. */
export interface Author {
  readonly by: string
  /** The address that the request came from. */
  readonly from?: string
}

export interface AuditRecord extends LimitTarget {
  readonly at: EpochMs
  readonly author: Author
  readonly action: AuditAction
  /** The version of the row that the change made. */
  readonly version: number
  /** Limits, or the name of the parent; absent where there was or is none. */
  readonly before?: readonly Limit[] | string
  readonly after?: readonly Limit[] | string
}

export interface AuditQuery extends LimitTarget {
  /** At most so many, the latest first. */
  readonly limit: number
}

const auditDays = 90
const schema = 1
const maxAuthorLength = 128

/** 90 days lie in at most so many months. */
const maxMonths = 4

/** `back`: so many months before the one of `at`. */
function pkOf(at: EpochMs, back = 0): string {
  const date = new Date(at)
  const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back))
  return `LIMITS#AUDIT#${month.toISOString().slice(0, 7)}`
}

/** Why a name cannot stand in an audit row; undefined where it can. */
export function authorMistake(by: string): string | undefined {
  if (by.trim() === '' || by.length > maxAuthorLength)
    return `the name of the author has 1 to ${maxAuthorLength} characters`
  return /\p{Cc}/u.test(by) ? 'the name of the author has no control characters' : undefined
}

export class AuditLog {
  readonly #cells: Cells
  readonly #clock: Pick<Clock, 'now' | 'random'>

  constructor(cells: Cells, clock: Pick<Clock, 'now' | 'random'>) {
    this.#cells = cells
    this.#clock = clock
  }

  /** Resolves to the row that was written; undefined where it could not be. Rejects where the store fails. */
  async write(record: Omit<AuditRecord, 'at'>): Promise<CellId | undefined> {
    const at = this.#clock.now()
    const sk = `${String(at).padStart(15, '0')}#${newUuid(() => this.#clock.random())}`
    const id = { pk: pkOf(at), sk }
    const collectAt = Math.ceil((at + auditDays * dayMs) / 1000)
    const value = Buffer.from(JSON.stringify({ ...record, at } satisfies AuditRecord))
    const draft = { kind: 'audit', v: schema, clocks: {}, collectAt, value }
    const outcome = await this.#cells.put(id, draft, { is: 'absent' })
    return outcome.ok ? id : undefined
  }

  /** Of a change that was not made. */
  async withdraw(id: CellId): Promise<void> {
    try {
      await this.#cells.remove(id, whateverIsThere)
    } catch {
      // It stays, with a version that another row has too.
    }
  }

  /** Reads month by month, backwards, until there are enough. Rejects where the store fails. */
  async list(query: AuditQuery): Promise<readonly AuditRecord[]> {
    const { limit } = query
    const found: AuditRecord[] = []
    const now = this.#clock.now()
    for (let back = 0; back < maxMonths && found.length < limit; back++) {
      const rows = await this.#cells.list(pkOf(now, back), schema)
      for (const [, cell] of rows.toReversed()) {
        const record = recordIn(cell)
        if (record !== undefined && isOfTarget(record, query)) found.push(record)
      }
    }
    return found.slice(0, limit)
  }
}

function recordIn(cell: Cell): AuditRecord | undefined {
  const record = fieldsIn(cell.value) as Partial<AuditRecord>
  const isKnown = typeof record.at === 'number' && auditActions.includes(record.action as AuditAction)
  return isKnown && typeof record.author?.by === 'string' ? (record as AuditRecord) : undefined
}
