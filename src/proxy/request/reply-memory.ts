/** Memory that an answer takes in the budget until its client has it, or is gone. */
import { type Budget, type BudgetShare, Reservation } from '../../core/budget.ts'
import type { Reply } from '../front/exchange.ts'
import type { SharedAnswers } from './shared-answers.ts'

export interface MemoryOptions {
  readonly budget: Budget
  /** For forwarded answers that their clients have not taken yet. */
  readonly forwardBuffers: BudgetShare
  readonly shared: SharedAnswers
}

/** So much of a forwarded answer is kept for a reader that is slower than the database. */
const maxKeptUnsent = 1024 * 1024

export class ReplyMemory {
  readonly #reply: Reply
  readonly #options: MemoryOptions
  #held: Reservation | undefined
  /** Room for the client's unread part of a forwarded answer: its maximum so far. */
  #kept: Reservation | undefined

  constructor(reply: Reply, options: MemoryOptions) {
    this.#reply = reply
    this.#options = options
  }

  /** Reserves memory until the answer is over. Returns false where the budget has no room. */
  hold(bytes: number): boolean {
    if (this.#reply.closed) return false
    this.#held ??= this.#untilClosed(this.#options.budget)
    return this.#held.grow(bytes)
  }

  /** As `hold`, for memory that other answers use too: it counts once. */
  holdShared(memory: readonly ArrayBufferLike[]): boolean {
    const { shared } = this.#options
    if (this.#reply.closed || !shared.hold(memory)) return false
    this.#reply.once('close', () => shared.release(memory))
    return true
  }

  /** Counts the client's unread part of an answer that has ended, where the budget has room. */
  holdUnsent(): void {
    const bytes = this.#reply.writableLength - (this.#kept?.bytes ?? 0)
    if (bytes > 0 && !this.#reply.writableFinished) this.hold(bytes)
  }

  /** Keeps the client's unread part of a forwarded answer. Returns false where that is too much. */
  keepUnsent(): boolean {
    const unsent = this.#reply.writableLength
    if (unsent <= (this.#kept?.bytes ?? 0)) return true
    if (unsent > maxKeptUnsent || this.#reply.closed) return false
    this.#kept ??= this.#untilClosed(this.#options.forwardBuffers)
    return this.#kept.resize(unsent)
  }

  #untilClosed(budget: Budget | BudgetShare): Reservation {
    const reservation = new Reservation(budget)
    this.#reply.once('close', () => reservation.free())
    return reservation
  }
}
