/**
 * Compressed answers, and plain ones of very many series, kept for whoever asks the same next: compressing costs a hundred
 * times as much as putting an answer together. They live in the one memory budget and are the first to leave it.
 */
import type { Budget } from '../../core/budget.ts'
import type { Pane } from '../../core/pane.ts'
import type { Packing } from './encoding.ts'

/** No more than this part of the budget. */
const share = 1 / 8
const entryOverhead = 256
/** Answers that are remembered as having been asked for once. */
const mostOnce = 256

export class PackedAnswers {
  readonly #budget: Budget
  /** In order of use: the first is the one used longest ago. */
  readonly #kept = new Map<string, Buffer>()
  /** Being made: who asks meanwhile waits for the same. */
  readonly #pending = new Map<string, Promise<Buffer>>()
  /** Names of answers that cost little to make: they are kept only when asked for again. */
  readonly #once = new Set<string>()
  #bytes = 0

  constructor(budget: Budget) {
    this.#budget = budget
    budget.onPressure(
      (bytes) => this.#drop(bytes),
      () => this.#bytes,
    )
  }

  /** The answer made of these panes in this packing. Answers of equal panes have equal bytes. */
  find(panes: readonly Pane[], packing: Packing): Buffer | Promise<Buffer> | undefined {
    const name = nameOf(panes, packing)
    const kept = this.#kept.get(name)
    if (kept === undefined) return this.#pending.get(name)
    this.#kept.delete(name)
    this.#kept.set(name, kept)
    return kept
  }

  /** Keeps what `pack` makes, if there is room for it. */
  async make(panes: readonly Pane[], packing: Packing, pack: () => Promise<Buffer>): Promise<Buffer> {
    const name = nameOf(panes, packing)
    const pending = pack()
    this.#pending.set(name, pending)
    try {
      const packed = await pending
      this.#keep(name, packed)
      return packed
    } finally {
      this.#pending.delete(name)
    }
  }

  /** Keeps a copy of an answer that is offered for the second time: most windows are asked for once. */
  offer(panes: readonly Pane[], packing: Packing, packed: Uint8Array): void {
    const name = nameOf(panes, packing)
    if (this.#once.delete(name)) {
      this.#keep(name, Buffer.from(packed))
      return
    }
    for (const oldest of this.#once) {
      if (this.#once.size < mostOnce) break
      this.#once.delete(oldest)
    }
    this.#once.add(name)
  }

  #keep(name: string, packed: Buffer): void {
    const size = sizeOf(name, packed)
    const most = this.#budget.limit * share
    if (this.#kept.has(name) || size > most) return
    this.#drop(this.#bytes + size - most)
    // Never at the cost of panes: a packed answer can be made again from them, not the other way round.
    if (this.#budget.used + size > this.#budget.limit || !this.#budget.reserve(size)) return
    this.#kept.set(name, packed)
    this.#bytes += size
  }

  #drop(bytes: number): void {
    let left = bytes
    for (const [name, packed] of this.#kept) {
      if (left <= 0) return
      const size = sizeOf(name, packed)
      this.#kept.delete(name)
      this.#bytes -= size
      this.#budget.release(size)
      left -= size
    }
  }
}

const sizeOf = (name: string, packed: Buffer): number => packed.length + 2 * name.length + entryOverhead

function nameOf(panes: readonly Pane[], packing: Packing): string {
  let name: string = packing
  for (const { body, from, to } of panes) name += ` ${body.id} ${from} ${to}`
  return name
}
