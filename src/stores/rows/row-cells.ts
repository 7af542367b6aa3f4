/**
 * Cells over an engine behind a network. Conditions are judged here (cell-rules.ts) on the rows that were loaded, and the
 * changes are committed only if those rows still have the same revisions; otherwise it begins again. Operations of this
 * process on one partition take turns, so that they do not make each other begin again.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Clock } from '../../core/clock.ts'
import { inTime } from '../../core/deadline.ts'
import { newUuid } from '../../core/uuid.ts'
import { takeFrom } from '../bucket-rules.ts'
import { isCollected, publishOn, putOn, type Rows, refusalOfId, removeFrom, visible } from '../cell-rules.ts'
import {
  type Cell,
  type CellCapabilities,
  type CellDraft,
  type CellId,
  type Cells,
  type Change,
  type Condition,
  type PublishOutcome,
  type PutOutcome,
  type Take,
  type TakeOutcome,
  textOfId,
} from '../cells.ts'
import type { CellCommit, CellEngine } from './cell-engine.ts'

/** Rows that are remembered as they were last seen; forgetting one costs a read. */
const maxSeen = 1000
const maxSeenBytes = 4 * 1024 * 1024
/** Others may be changing the same rows: after so many attempts the operation is given up. */
const maxAttempts = 16
/** Every node takes from the same bucket all the time; giving up would admit or refuse without counting. */
const maxTakeAttempts = 100
const maxTurnMs = 10_000
const unavailable = { ok: false, reason: 'unavailable' } as const

export class RowCells implements Cells {
  readonly name: string
  readonly capabilities: CellCapabilities
  readonly #engine: CellEngine
  readonly #clock: Clock
  /** By partition: the operation that is the last in line. */
  readonly #turns = new Map<string, Promise<unknown>>()
  /** By row: takes that have not been begun. */
  readonly #batches = new Map<string, TakeBatch>()
  /** A change at the revision of a row that was seen needs no read: the commit fails where the row has changed since. */
  readonly #seen = new BoundedMap<string, Cell>({
    maxEntries: maxSeen,
    maxWeight: maxSeenBytes,
    weightOf: ({ value }) => value.byteLength,
  })

  constructor(engine: CellEngine, clock: Clock) {
    this.name = engine.name
    this.capabilities = engine.capabilities
    this.#engine = engine
    this.#clock = clock
  }

  async get(id: CellId, v: number): Promise<Cell | undefined> {
    if (refusalOfId(id) !== undefined) return undefined
    const [cell] = await this.#engine.load(id.pk, [id.sk])
    this.#see(id, cell)
    const now = this.#clock.now()
    // A row seen collected is gone for good, even if the clock goes back. Token buckets keep their debt.
    if (cell !== undefined && cell.levels === undefined && isCollected(cell, now))
      await this.#engine.commit(id.pk, [{ sk: id.sk, expected: cell.rev, row: undefined }])
    return visible(cell, v, now)
  }

  async list(pk: string, v: number): Promise<readonly (readonly [string, Cell])[]> {
    if (refusalOfId({ pk, sk: '-' }) !== undefined) return []
    const rows = await this.#engine.list(pk)
    const now = this.#clock.now()
    return rows.filter(([, cell]) => visible(cell, v, now) !== undefined)
  }

  async put(id: CellId, draft: CellDraft, condition: Condition): Promise<PutOutcome> {
    const put = (rows: Rows): PutOutcome => putOn(rows, { id, put: draft, if: condition })
    const seen = this.#seen.get(textOfId(id))
    if (condition.is === 'revision' && seen?.rev === condition.rev) {
      const stored = new Map([[id.sk, seen]])
      const made = await this.#inTurn(id.pk, () => this.#attempt(id.pk, stored, put))
      if (made !== undefined) return made.outcome
    }
    return this.#transact([id], put, unavailable)
  }

  /** Takes from one row that wait for its turn are done together: one read and one write for all of them. */
  async take(id: CellId, take: Take): Promise<TakeOutcome> {
    const batch = this.#batches.get(textOfId(id)) ?? this.#newBatch(id)
    const index = batch.takes.push(take) - 1
    return (await batch.outcomes)?.[index] ?? unavailable
  }

  #newBatch(id: CellId): TakeBatch {
    const takes: Take[] = []
    const name = textOfId(id)
    const close = (): void => {
      if (this.#batches.get(name)?.takes === takes) this.#batches.delete(name)
    }
    const outcomes = this.#transact(
      [id],
      (rows) => {
        close()
        return takes.map((take) => takeFrom(rows, id, take))
      },
      undefined,
      maxTakeAttempts,
    ).finally(close)
    const batch = { takes, outcomes }
    this.#batches.set(name, batch)
    return batch
  }

  remove(id: CellId, condition: Condition): Promise<boolean> {
    return this.#transact([id], (rows) => removeFrom(rows, id, condition), false)
  }

  publish(changes: readonly Change[]): Promise<PublishOutcome> {
    const ids = changes.map(({ id }) => id)
    const otherwise = { ...unavailable, failed: 0 }
    return this.#transact<PublishOutcome>(ids, (rows) => publishOn(rows, changes), otherwise)
  }

  /** The rows' engine closes the connection. */
  close(): void {}

  async #transact<T>(
    ids: readonly CellId[],
    action: (rows: Rows) => T,
    otherwise: T,
    attempts = maxAttempts,
  ): Promise<T> {
    const pk = ids[0]?.pk ?? ''
    // An id that no row can have is refused by the action, whatever is stored.
    const own = ids.filter((id) => id.pk === pk && refusalOfId(id) === undefined)
    const sks = [...new Set(own.map(({ sk }) => sk))]
    return this.#inTurn(pk, async () => {
      for (let attempt = 0; attempt < attempts; attempt++) {
        const stored = sks.length === 0 ? [] : await this.#engine.load(pk, sks)
        const made = await this.#attempt(pk, new Map(sks.map((sk, i) => [sk, stored[i]])), action)
        if (made !== undefined) return made.outcome
      }
      return otherwise
    })
  }

  /** Undefined where a row has changed since it was loaded. */
  async #attempt<T>(
    pk: string,
    stored: ReadonlyMap<string, Cell | undefined>,
    action: (rows: Rows) => T,
  ): Promise<{ readonly outcome: T } | undefined> {
    const commits = new Map<string, CellCommit>()
    const outcome = action(this.#rowsOf(stored, commits))
    const isMade = commits.size === 0 || (await this.#commit(pk, [...commits.values()]))
    return isMade ? { outcome } : undefined
  }

  /** Rows of one partition as they were loaded; changes of an operation go to `commits`. */
  #rowsOf(stored: ReadonlyMap<string, Cell | undefined>, commits: Map<string, CellCommit>): Rows {
    return {
      now: this.#clock.now(),
      maxValueBytes: this.capabilities.maxValueBytes,
      stored: ({ sk }) => (commits.has(sk) ? commits.get(sk)!.row : stored.get(sk)),
      store: ({ sk }, row) => {
        const rev = newUuid(this.#clock.random)
        commits.set(sk, { sk, expected: stored.get(sk)?.rev, row: { ...row, rev } })
        return rev
      },
      drop({ sk }) {
        const expected = stored.get(sk)?.rev
        if (expected !== undefined) commits.set(sk, { sk, expected, row: undefined })
      },
    }
  }

  /** Where the engine's result is unknown, the revisions decide: they are unique. */
  async #commit(pk: string, commits: readonly CellCommit[]): Promise<boolean> {
    for (const { sk, row } of commits) this.#see({ pk, sk }, row)
    try {
      return await this.#engine.commit(pk, commits)
    } catch (error) {
      const sks = commits.map(({ sk }) => sk)
      const stored = await this.#engine.load(pk, sks)
      const isDone = commits.every(({ row }, i) => stored[i]?.rev === row?.rev)
      if (isDone) return true
      throw error
    }
  }

  /** A revision that was never stored is harmless here: no commit at it succeeds. */
  #see(id: CellId, cell: Cell | undefined): void {
    if (cell === undefined) this.#seen.delete(textOfId(id))
    else this.#seen.set(textOfId(id), cell)
  }

  async #inTurn<T>(pk: string, operation: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(pk)
    const turn = before === undefined ? operation() : this.#after(before).then(operation)
    this.#turns.set(pk, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(pk) === turn) this.#turns.delete(pk)
    }
  }

  /** An operation that the engine never ends must not hold up its partition for ever. */
  async #after(before: Promise<unknown>): Promise<void> {
    await inTime(before, this.#clock, maxTurnMs).catch(() => {})
  }
}

interface TakeBatch {
  readonly takes: Take[]
  /** Undefined where others changed the row all the time. */
  readonly outcomes: Promise<readonly TakeOutcome[] | undefined>
}
