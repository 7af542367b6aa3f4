/**
 * Marks as cells of a durable store: they outlive this process and are seen by others that share the store. Next to the
 * rows stands a head whose revision changes with them, so that looking for news is one read.
 */
import { hash } from 'node:crypto'
import type { EpochMs } from '../core/clock.ts'
import { fieldsIn } from '../core/json-object.ts'
import type { Mark } from '../core/mark.ts'
import {
  type Cell,
  type CellDraft,
  type CellId,
  type Cells,
  type Change,
  type Revision,
  whateverIsThere,
} from '../stores/cells.ts'

export interface MarkRowsOptions {
  /** Limited in time by their guard: they reject where the store fails, is late, or is left alone. */
  readonly cells: Cells
  /** How long after its `at` a mark is kept. */
  readonly retentionMs: number
}

const pk = 'marks'
const schema = 1
const head: CellId = { pk, sk: 'head' }
/** A row contains its own expiry. Rows are collected later, so that a longer retention finds them still there. */
const collectAfterMs = 30 * 86_400_000
/** The limit of one publish; remaining rows to be removed expire by themselves. */
const maxChanges = 100
/** Marks that one save takes, with room for the head and some removals. */
export const maxMarksPerSave = 50

export class MarkRows {
  readonly #options: MarkRowsOptions
  #seenRevision: Revision | undefined
  /** The rows of the last listing, by `sk`. */
  #listed: ReadonlySet<string> = new Set()

  constructor(options: MarkRowsOptions) {
    this.#options = options
  }

  /** Resolves to whether all of it is stored now. */
  async save(added: readonly Mark[], dropped: readonly Mark[]): Promise<boolean> {
    const changes: Change[] = [
      ...added.map((mark) => ({ id: idOf(mark), put: this.#draftOf(mark), if: whateverIsThere })),
      { id: head, put: headDraft, if: whateverIsThere },
      ...dropped.map((mark) => ({ id: idOf(mark), remove: true as const, if: whateverIsThere })),
    ]
    try {
      return (await this.#options.cells.publish(changes.slice(0, maxChanges))).ok
    } catch {
      return false
    }
  }

  /**
   * The marks in the store where they have changed since they were last listed, or where the caller insists; none
   * otherwise. Undefined where the store could not be read.
   */
  async look(isForced: boolean): Promise<readonly Mark[] | undefined> {
    const { cells } = this.#options
    try {
      const now = await cells.get(head, schema)
      if (!isForced && (now === undefined || now.rev === this.#seenRevision)) return []
      const rows = await cells.list(pk, schema)
      // A failing store may return nothing: then the head is missing too.
      this.#seenRevision = rows.find(([sk]) => sk === head.sk)?.[1].rev ?? this.#seenRevision
      this.#listed = new Set(rows.map(([sk]) => sk))
      return rows.map(([, cell]) => markIn(cell)).filter((mark) => mark !== undefined)
    } catch {
      return undefined
    }
  }

  hasListed(mark: Mark): boolean {
    return this.#listed.has(idOf(mark).sk)
  }

  /** No message is needed: every node knows when a mark expires. */
  async forget(lapsed: readonly Mark[]): Promise<void> {
    for (const mark of lapsed) {
      try {
        await this.#options.cells.remove(idOf(mark), whateverIsThere)
      } catch {
        return
      }
    }
  }

  #draftOf(mark: Mark): CellDraft {
    const until: EpochMs = mark.at + this.#options.retentionMs + collectAfterMs
    return { kind: 'mark', v: schema, clocks: {}, collectAt: Math.ceil(until / 1000), value: bytesOf(mark) }
  }
}

const headDraft: CellDraft = {
  kind: 'marks',
  v: schema,
  clocks: {},
  collectAt: 'never',
  value: new Uint8Array(0),
}

/** JSON has no infinity: an end that is not there is left out. */
const bytesOf = ({ from, to, ...rest }: Mark): Uint8Array =>
  Buffer.from(
    JSON.stringify({ ...rest, ...(Number.isFinite(from) && { from }), ...(Number.isFinite(to) && { to }) }),
  )

/** Equal marks have one row, whichever node writes them. */
const idOf = (mark: Mark): CellId => ({ pk, sk: `mark-${hash('sha256', bytesOf(mark), 'base64url')}` })

/** Undefined where a row is not a mark, or one that this version does not understand. */
function markIn({ kind, value }: Cell): Mark | undefined {
  if (kind !== 'mark') return undefined
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, ...rest } = fieldsIn(value)
  const mark = { ...rest, from, to } as Mark
  return isMark(mark) ? mark : undefined
}

function isMark({ kind, backend, shape, source, from, to, at }: Mark): boolean {
  const isNamed = [backend, shape, source].every((name) => name === undefined || typeof name === 'string')
  return (kind === 'purge' || kind === 'stale') && isNamed && from < to && Number.isFinite(at)
}
