/**
 * Bytes that several clients are being sent at once. They are in memory, and in the budget, once: many clients that take
 * nothing of the same answer cost no more than one.
 */
import type { Budget } from '../../core/budget.ts'
import type { Written } from '../../core/scratch.ts'

interface Sending extends Written {
  users: number
}

export class SharedAnswers {
  readonly #budget: Budget
  readonly #sending = new Map<string, Sending>()
  /** Memory that belongs to others, such as panes, and how many answers are sent from it. */
  readonly #held = new Map<ArrayBufferLike, number>()

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /**
   * The answer of this name, if it is being sent to another client, or else the result of `write`. Each user releases
   * it once.
   */
  use(name: string, write: () => Written | undefined): Written | undefined {
    const sending = this.#sending.get(name) ?? this.#begin(name, write())
    if (sending === undefined) return undefined
    sending.users++
    return { bytes: sending.bytes, release: () => this.#leave(name, sending) }
  }

  /** Counts memory in the budget until it is released as often. Returns false, and counts nothing, where there is no room. */
  hold(memory: readonly ArrayBufferLike[]): boolean {
    for (const [i, each] of memory.entries()) {
      const users = this.#held.get(each) ?? 0
      if (users === 0 && !this.#budget.reserve(each.byteLength)) {
        this.release(memory.slice(0, i))
        return false
      }
      this.#held.set(each, users + 1)
    }
    return true
  }

  release(memory: readonly ArrayBufferLike[]): void {
    for (const each of memory) {
      const users = this.#held.get(each)! - 1
      if (users > 0) this.#held.set(each, users)
      else {
        this.#held.delete(each)
        this.#budget.release(each.byteLength)
      }
    }
  }

  #begin(name: string, written: Written | undefined): Sending | undefined {
    if (written === undefined) return undefined
    const sending = { ...written, users: 0 }
    this.#sending.set(name, sending)
    return sending
  }

  #leave(name: string, sending: Sending): void {
    if (--sending.users > 0) return
    this.#sending.delete(name)
    sending.release()
  }
}
