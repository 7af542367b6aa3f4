/**
 * Modes that were set while running, as one cell per store: every node that shares the store reads it. An entry is
 * never removed, only replaced or marked as over, so that a node which reads late can distinguish "set" from "set and
 * ended since".
 */
import type { EpochMs } from '../../core/clock.ts'
import { fieldsIn } from '../../core/json-object.ts'
import { type Cell, type CellDraft, type CellId, type Cells, unchangedSince } from '../../stores/cells.ts'
import { type Mode, modes } from '../request/settings.ts'

/** One `windowpane mode`, of whichever node. */
export interface SetMode {
  /** Unique. Entries are compared by it and not by time, because clocks of nodes differ. */
  readonly id: string
  readonly mode: Mode
  readonly at: EpochMs
  /** A node has reloaded its configuration since: nodes that start from now on begin with the configured mode. */
  readonly isOver?: boolean
}

/** By the name of the backend. */
export type SetModes = Readonly<Record<string, SetMode>>

const id: CellId = { pk: 'fleet', sk: 'modes' }
const schema = 1
/** How often a change is tried again after another node was faster. */
const maxAttempts = 5

export class ModeRow {
  readonly #cells: Cells

  constructor(cells: Cells) {
    this.#cells = cells
  }

  /** Rejects where the store fails or is late. */
  async read(): Promise<SetModes> {
    return modesIn(await this.#cells.get(id, schema))
  }

  /** Resolves to whether the change is stored. `edit` returns undefined where there is nothing to change. */
  async change(edit: (modes: SetModes) => SetModes | undefined): Promise<boolean> {
    try {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const cell = await this.#cells.get(id, schema)
        const edited = edit(modesIn(cell))
        if (edited === undefined) return true
        const outcome = await this.#cells.put(id, draftOf(edited), unchangedSince(cell?.rev))
        if (outcome.ok || outcome.reason !== 'condition') return outcome.ok
      }
    } catch {
      // The caller learns that it is not stored.
    }
    return false
  }
}

const draftOf = (edited: SetModes): CellDraft => ({
  ...{ kind: 'modes', v: schema, clocks: {}, collectAt: 'never' },
  value: Buffer.from(JSON.stringify(edited)),
})

/** Entries that this version does not understand are left out. */
function modesIn(cell: Cell | undefined): SetModes {
  if (cell === undefined) return {}
  const stored = Object.entries(fieldsIn(cell.value) as Record<string, Partial<SetMode> | null>)
  return Object.fromEntries(stored.filter(([, entry]) => isSetMode(entry))) as SetModes
}

const isSetMode = (entry: Partial<SetMode> | null): boolean =>
  typeof entry?.id === 'string' && modes.includes(entry.mode as Mode) && typeof entry.at === 'number'
