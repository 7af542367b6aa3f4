/** Cells in the file: conditions are judged inside the write transaction, so that processes may share it. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import { takeFrom } from '../bucket-rules.ts'
import { isCollected, publishOn, putOn, type Rows, refusalOfId, removeFrom, visible } from '../cell-rules.ts'
import {
  type Cell,
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
import { seal, unseal } from '../rows/seal.ts'
import type { MaybePromise } from '../store.ts'
import type { StoreFile } from './file.ts'
import type { Health } from './health.ts'
import { endOfPrefix } from './keys.ts'
import type { Markers } from './marker.ts'

export interface LmdbCellsParts {
  readonly file: StoreFile
  readonly health: Health
  readonly clock: Clock
  readonly markers: Pick<Markers, 'isAlone'>
  /** Whether so many bytes may be written now. */
  readonly hasRoomFor: (bytes: number) => boolean
}

/** Leases, marks and token buckets are written even where the store is full; bodies of objects are not. */
const alwaysWrittenBytes = 4096
/** Of a row beside its value. */
const overheadBytes = 1024

const unavailable = { ok: false, reason: 'unavailable' } as const

/** How late it may be noticed that another process has opened the file. */
const lookAgainMs = 1000

export class LmdbCells implements Cells {
  readonly name = 'lmdb'
  readonly capabilities = { shared: true, durable: true, maxValueBytes: 64 * 1024 }
  readonly #parts: LmdbCellsParts
  readonly #rows: Rows
  #alone: { readonly is: boolean; readonly until: EpochMs } = { is: false, until: Number.NEGATIVE_INFINITY }

  constructor(parts: LmdbCellsParts) {
    this.#parts = parts
    this.#rows = rowsOn(parts.file, parts.clock, this.capabilities.maxValueBytes)
  }

  isAlone(): boolean {
    const { clock, markers } = this.#parts
    const now = clock.now()
    if (!(now < this.#alone.until)) this.#alone = { is: markers.isAlone(), until: now + lookAgainMs }
    return this.#alone.is
  }

  get(id: CellId, v: number): MaybePromise<Cell | undefined> {
    if (refusalOfId(id) !== undefined) return undefined
    const { file, health, clock } = this.#parts
    return health.attempt(() => {
      file.renew()
      const cell = storedAt(file, idBytes(id))
      const now = clock.now()
      // A row seen collected is gone for good, even if the clock goes back.
      if (cell !== undefined && cell.levels === undefined && isCollected(cell, now))
        return this.#collect(id, cell)
      return visible(cell, v, now)
    })
  }

  list(pk: string, v: number): readonly (readonly [string, Cell])[] {
    if (refusalOfId({ pk, sk: '-' }) !== undefined) return []
    const { file, health, clock } = this.#parts
    const found = health.attempt(() => {
      file.renew()
      const start = idBytes({ pk, sk: '' })
      const keys = [...file.tables.cells.getKeys({ start, end: endOfPrefix(start) })]
      return keys.flatMap((at) => {
        const cell = visible(storedAt(file, at), v, clock.now())
        return cell === undefined ? [] : [[at.toString('utf8', start.length), cell] as const]
      })
    })
    return found ?? []
  }

  put(id: CellId, draft: CellDraft, condition: Condition): Promise<PutOutcome> {
    const change: Change = { id, put: draft, if: condition }
    return this.#write<PutOutcome>([change], () => putOn(this.#rows, change), unavailable)
  }

  async take(id: CellId, take: Take): Promise<TakeOutcome> {
    return (await this.#change(0, () => takeFrom(this.#rows, id, take))) ?? unavailable
  }

  async remove(id: CellId, condition: Condition): Promise<boolean> {
    return (await this.#change(0, () => removeFrom(this.#rows, id, condition))) ?? false
  }

  publish(changes: readonly Change[]): Promise<PublishOutcome> {
    const otherwise = { ...unavailable, failed: 0 }
    return this.#write<PublishOutcome>(changes, () => publishOn(this.#rows, changes), otherwise)
  }

  /** The file belongs to the store that these cells came from. */
  close(): void {}

  #collect(id: CellId, cell: Cell): Promise<undefined> {
    const { file } = this.#parts
    return this.#change(0, () => {
      const at = idBytes(id)
      if (storedAt(file, at)?.rev === cell.rev) file.tables.cells.remove(at)
      return undefined
    })
  }

  async #write<T>(changes: readonly Change[], action: () => T, otherwise: T): Promise<T> {
    const { health, hasRoomFor } = this.#parts
    const bytes = changes.reduce(
      (sum, change) => sum + ('put' in change ? change.put.value.byteLength : 0),
      0,
    )
    const isAdmitted = bytes <= alwaysWrittenBytes || health.attempt(() => hasRoomFor(bytes)) === true
    return (isAdmitted ? await this.#change(bytes, action) : undefined) ?? otherwise
  }

  #change<T>(bytes: number, action: () => T): Promise<T | undefined> {
    const { file, health } = this.#parts
    return health.attemptChange(() => file.change(bytes + overheadBytes, action))
  }
}

const idBytes = (id: CellId): Buffer => Buffer.from(textOfId(id))

/** No id begins with NUL. */
export const revisionAt = Buffer.from('\0revision')

function rowsOn(file: StoreFile, clock: Clock, maxValueBytes: number): Rows {
  const { cells } = file.tables
  return {
    maxValueBytes,
    get now() {
      return clock.now()
    },
    stored: (id) => storedAt(file, idBytes(id)),
    store(id, row) {
      const rev = nextRevision(file)
      const at = idBytes(id)
      cells.put(at, seal(at, encode({ ...row, rev })))
      return String(rev)
    },
    drop: (id) => void cells.remove(idBytes(id)),
  }
}

/** One counter for all rows: a row that is deleted and made again must not get a revision that someone remembers. */
function nextRevision(file: StoreFile): number {
  const view = file.tables.cells.getBinaryFast(revisionAt)
  const payload = view === undefined ? undefined : unseal(revisionAt, view)
  const next = Buffer.alloc(8)
  next.writeDoubleLE((payload === undefined ? 0 : payload.readDoubleLE(0)) + 1)
  file.tables.cells.put(revisionAt, seal(revisionAt, next))
  return next.readDoubleLE(0)
}

export function storedAt(file: StoreFile, at: Buffer): Cell | undefined {
  const view = file.tables.cells.getBinaryFast(at)
  const payload = view === undefined ? undefined : unseal(at, view)
  return payload === undefined ? undefined : decode(payload)
}

/** In the file a revision is a number, as it was in earlier releases. */
type StoredCell = Omit<Cell, 'rev'> & { readonly rev: number }

function encode({ value, ...rest }: StoredCell): Buffer {
  const head = Buffer.from(JSON.stringify(rest))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(head.length)
  return Buffer.concat([length, head, value])
}

function decode(payload: Buffer): Cell {
  const valueAt = 4 + payload.readUInt32LE(0)
  const rest = JSON.parse(payload.toString('utf8', 4, valueAt)) as Omit<StoredCell, 'value'>
  return { ...rest, rev: String(rest.rev), value: Uint8Array.from(payload.subarray(valueAt)) }
}
