/**
 * Compressed answers, and plain ones of very many series, cached for the next equal request: compressing costs a
 * hundred times as much as recomposing an answer. They are in the one memory budget and are evicted first.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Budget } from '../../core/budget.ts'
import { ownMemory } from '../../core/bytes.ts'
import type { Pane } from '../../core/pane.ts'
import type { Packing } from './encoding.ts'

/** The panes of an answer, or a unique name: equal ones have equal bytes. */
export type Packable = readonly Pane[] | string

const entryOverhead = 256
/** Answers that are recorded as requested once. */
const mostOnce = 256

export class PackedAnswers {
  readonly #budget: Budget
  readonly #kept: BoundedMap<string, Buffer>
  /** In progress: concurrent requests wait for the same result. */
  readonly #pending = new Map<string, Promise<Buffer>>()
  /** Names of answers that are cheap to make: they are kept only when requested again. */
  readonly #once = new BoundedMap<string, true>({ maxEntries: mostOnce })

  constructor(budget: Budget) {
    this.#budget = budget
    this.#kept = new BoundedMap({ maxWeight: budget.derivedBytes, weightOf: sizeOf, budget })
  }

  find(answer: Packable, packing: Packing): Buffer | Promise<Buffer> | undefined {
    const name = nameOf(answer, packing)
    return this.#kept.use(name) ?? this.#pending.get(name)
  }

  /** Keeps the result of `pack`, if there is room for it. */
  async make(answer: Packable, packing: Packing, pack: () => Promise<Buffer>): Promise<Buffer> {
    const name = nameOf(answer, packing)
    const pending = pack().then(ownMemory)
    this.#pending.set(name, pending)
    try {
      const packed = await pending
      this.#keep(name, packed)
      return packed
    } finally {
      this.#pending.delete(name)
    }
  }

  /** Keeps a copy of an answer that is offered for the second time: most windows are requested once. */
  offer(answer: Packable, packing: Packing, packed: Uint8Array): void {
    const name = nameOf(answer, packing)
    if (this.#once.delete(name)) {
      this.#keep(name, ownMemory(packed))
      return
    }
    this.#once.set(name, true)
  }

  #keep(name: string, packed: Buffer): void {
    const size = sizeOf(packed, name)
    const most = this.#budget.derivedBytes
    if (this.#kept.has(name) || size > most) return
    // Before the budget is looked at, so that evictions make room for it.
    this.#kept.evictTo(most - size)
    // Never at the cost of panes: a packed answer can be made again from them, not the other way round.
    if (this.#budget.used + size <= this.#budget.limit) this.#kept.set(name, packed)
  }
}

const sizeOf = (packed: Buffer, name: string): number => packed.length + 2 * name.length + entryOverhead

/** Equal for answers of equal bytes. */
export function nameOf(answer: Packable, packing: Packing): string {
  if (typeof answer === 'string') return `${packing} ${answer}`
  let name: string = packing
  for (const { body, from, to } of answer) name += ` ${body.id} ${from} ${to}`
  return name
}
