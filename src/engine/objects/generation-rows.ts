/** Generations of a tenant as cells of one partition; see generations.ts. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import { type Cell, type CellDraft, type Cells, unchangedSince, whateverIsThere } from '../../stores/cells.ts'
import { maxRetentionMs } from './object-clocks.ts'
import { generationsPk } from './object-names.ts'
import { schema } from './object-rows.ts'

export interface Generation {
  readonly sk: string
  readonly at: EpochMs
}

/** The content of a tenant's rows at one moment. */
export interface Listed {
  /** Names that moment: it is another after every change. */
  readonly head: EpochMs
  readonly rows: readonly Generation[]
}

export interface Saved extends Generation {
  /** The head before. It is `at` afterwards. */
  readonly from: EpochMs
}

const headSk = 'HEAD'
/** Nodes that invalidate at the same instant change the same head. */
const maxAttempts = 8
const day = 86_400_000

export class GenerationRows {
  readonly #cells: Cells
  readonly #clock: Clock

  constructor(cells: Cells, clock: Clock) {
    this.#cells = cells
    this.#clock = clock
  }

  /** The rows of a tenant where its head is another than `known`. Rejects where the store fails. */
  async news(tenant: string, known: EpochMs): Promise<Listed | undefined> {
    const pk = generationsPk(tenant)
    const head = atIn(await this.#cells.get({ pk, sk: headSk }, schema))
    if (head === known) return undefined
    // A change during the listing may be in it or not: the head from before finds it with the next look.
    const rows = await this.#cells.list(pk, schema)
    return { head, rows: rows.flatMap(([sk, cell]) => (sk === headSk ? [] : [{ sk, at: atIn(cell) }])) }
  }

  /** Stores it under an instant that no generation of the tenant has. Rejects where it could not be stored. */
  async save(tenant: string, { sk, at }: Generation): Promise<Saved> {
    const pk = generationsPk(tenant)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const head = await this.#cells.get({ pk, sk: headSk }, schema)
      const from = atIn(head)
      const next = Math.max(at, from + 1)
      const outcome = await this.#cells.publish([
        { id: { pk, sk }, put: this.#draft(next), if: whateverIsThere },
        { id: { pk, sk: headSk }, put: this.#draft(next), if: unchangedSince(head?.rev) },
      ])
      if (outcome.ok) return { sk, at: next, from }
      if (outcome.reason !== 'condition') throw new Error(`an invalidation was refused: ${outcome.reason}`)
    }
    throw new Error('an invalidation was refused: too many others at the same time')
  }

  /**
   * Replaces many rows by one for the whole tenant. The head stays: a reader that has not seen these rows yet has not
   * seen its instant either, and finds the new row instead.
   */
  async fold(tenant: string, everything: Generation, sks: readonly string[]): Promise<void> {
    const pk = generationsPk(tenant)
    await this.#cells.publish([
      { id: { pk, sk: everything.sk }, put: this.#draft(everything.at), if: whateverIsThere },
      ...sks.map((sk) => ({ id: { pk, sk }, remove: true as const, if: whateverIsThere })),
    ])
  }

  /** Kept for longer than any object that it concerns. */
  #draft(at: EpochMs): CellDraft {
    const until = Math.max(at, this.#clock.now()) + maxRetentionMs + day
    const collectAt = Math.ceil(until / 1000)
    const value = new Uint8Array(0)
    return { kind: 'object-generation', v: schema, clocks: {}, collectAt, value, attributes: { at_ms: at } }
  }
}

/** 0 where there is no row. */
const atIn = (cell: Cell | undefined): EpochMs => Number(cell?.attributes?.['at_ms'] ?? 0)
