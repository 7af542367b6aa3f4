/**
 * Modes of the backends of one store, in step with all nodes that share it. The rule is that of a single process, where a
 * mode that was set holds until the next reload or restart, carried over to a fleet:
 *
 * - A mode set at one node holds at all of them, and at nodes that start or restart while another one runs.
 * - A reload ends it at the node that reloads. The others keep it until they reload too: a new configuration reaches nodes one
 *   after the other, and none of them may fall back to its old configuration in between. Nodes that start from then on begin
 *   with the configuration.
 * - When the last node is gone, it is over.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import { newUuid } from '../../core/uuid.ts'
import type { Mode, ModeState } from '../request/settings.ts'
import type { ModeRow, SetMode, SetModes } from './mode-row.ts'

/** A backend whose mode can be set in all threads of this process. */
export interface ModeHolder {
  readonly name: string
  readonly state: ModeState
  set(mode: Mode): Promise<unknown>
}

export interface SharedModesOptions {
  readonly clock: Clock
  readonly row: ModeRow
  /** The backends that use the store now. */
  readonly backends: () => readonly ModeHolder[]
  /** Whether no other node runs. */
  readonly isFirst: () => Promise<boolean>
}

/** A mode set at another node is in force here after this long, plus two reads of the store. */
export const modePollMs = 2000
const maxSeen = 256

export class SharedModes {
  readonly #options: SharedModesOptions
  /** Entries that were applied or passed over, the last ones. */
  readonly #seen = new BoundedMap<string, true>({ maxEntries: maxSeen })
  /** By backend: the entry that is in force here. */
  readonly #held = new Map<string, string>()
  /** By backend: modes that were set while the store failed. */
  readonly #unsaved = new Map<string, SetMode>()
  /** Changes when a mode is being set here: an earlier read is then outdated. */
  #sets = 0
  #isLoaded = false
  #isClosed = false
  #timer: Timer | undefined

  constructor(options: SharedModesOptions) {
    this.#options = options
  }

  /** Adopts the stored modes, and follows changes from then on. Await before the first request is accepted. */
  async load(): Promise<void> {
    await this.#look()
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(modePollMs, () => void this.load())
  }

  /** The mode is in force here already. Resolves to whether other nodes will read it. */
  async set(backend: string, mode: Mode): Promise<boolean> {
    const { clock, row } = this.#options
    const entry: SetMode = { id: newUuid(clock.random), mode, at: clock.now() }
    this.#sets++
    this.#seen.set(entry.id, true)
    this.#held.set(backend, entry.id)
    const isStored = await row.change((modes) => ({ ...modes, [backend]: entry }))
    if (isStored) this.#unsaved.delete(backend)
    else this.#unsaved.set(backend, entry)
    this.#sets++
    return isStored
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #look(): Promise<void> {
    try {
      await this.#endReloaded()
      await this.#saveAgain()
      const sets = this.#sets
      const modes = await this.#options.row.read()
      if (!this.#isLoaded && (await this.#options.isFirst())) await this.#forget(modes)
      this.#isLoaded = true
      for (const backend of this.#options.backends()) {
        if (sets === this.#sets) await this.#follow(backend, modes)
      }
    } catch {
      // The store fails: the modes in force here stay, and the next read may succeed.
    }
  }

  async #follow(backend: ModeHolder, modes: SetModes): Promise<void> {
    const { name } = backend
    const entry = Object.hasOwn(modes, name) ? modes[name] : undefined
    if (entry === undefined || this.#seen.has(entry.id)) return
    this.#seen.set(entry.id, true)
    if (entry.isOver === true) return
    this.#held.set(name, entry.id)
    await backend.set(entry.mode)
  }

  /** Modes that were left by nodes which are gone are over. */
  async #forget(modes: SetModes): Promise<void> {
    const ids = Object.values(modes).map((entry) => entry.id)
    for (const id of ids) this.#seen.set(id, true)
    await this.#end(ids)
  }

  /** A reload replaces the settings, and with them the mode that was set: only that it happened is seen here. */
  async #endReloaded(): Promise<void> {
    const reloaded = this.#options
      .backends()
      .filter(({ name, state }) => this.#held.has(name) && !state.isOverridden)
    const ids = reloaded.map(({ name }) => this.#held.get(name)!)
    if (ids.length > 0 && (await this.#end(ids))) for (const { name } of reloaded) this.#held.delete(name)
  }

  /** Modes that another node has set since stay. */
  async #saveAgain(): Promise<void> {
    for (const [backend, entry] of this.#unsaved) {
      const isWanted = this.#held.get(backend) === entry.id
      const isSaved = await this.#options.row.change((modes) =>
        isWanted && !((modes[backend]?.at ?? 0) > entry.at) ? { ...modes, [backend]: entry } : undefined,
      )
      if (isSaved && this.#unsaved.get(backend) === entry) this.#unsaved.delete(backend)
    }
  }

  /** Only these: modes that another node has set meanwhile stay. */
  #end(ids: readonly string[]): Promise<boolean> {
    return this.#options.row.change((modes) => {
      const isEnding = (id: string, isOver: boolean | undefined) => ids.includes(id) && isOver !== true
      if (!Object.values(modes).some(({ id, isOver }) => isEnding(id, isOver))) return undefined
      const ended = Object.entries(modes).map(
        ([name, entry]) =>
          [name, isEnding(entry.id, entry.isOver) ? { ...entry, isOver: true } : entry] as const,
      )
      return Object.fromEntries(ended)
    })
  }
}
