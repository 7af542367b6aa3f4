/**
 * A store as it is behind a network: every operation is a promise, takes its time on the way there and back, may be done in
 * another order than it was asked for, and may fail late, before or after it was done. For tests of whatever uses a store.
 */
import type { Clock } from '../core/clock.ts'
import type { Cells } from '../stores/cells.ts'
import type { Store } from '../stores/store.ts'
import { type Random, seededRandom, wholeNumber } from './random.ts'

export interface AsynchronousOptions {
  readonly clock: Clock
  /** Decides delays and failures; a fixed sequence unless told. */
  readonly random?: Random
  /** Each way takes up to this long on the clock; 0, unless told: some turns of the microtask queue, and no time. */
  readonly maxDelayMs?: number
  /** How long each way takes, where that is no uniform distribution. */
  readonly delayMs?: () => number
  /** The share of operations that fail; none unless told. Half of them were done all the same. */
  readonly failures?: () => number
  /** Nothing arrives any more, in either direction, and every operation fails. */
  readonly isCut?: () => boolean
}

export function asynchronous(store: Store, options: AsynchronousOptions): Store {
  const network = new Network(options)
  return {
    name: `asynchronous ${store.name}`,
    ...(store.cells && { cells: asynchronousCells(store.cells, network) }),
    record: (key) => network.run(() => store.record(key)),
    read: (key, interval, stale) => network.run(() => store.read(key, interval, stale)),
    ...(store.peek && { peek: (key, interval) => network.run(() => store.peek!(key, interval)) }),
    write: (key, entry) => network.run(() => store.write(key, entry)),
    remove: (key, interval, fetchedUntil) => network.run(() => store.remove(key, interval, fetchedUntil)),
    async *shapes() {
      for await (const listed of store.shapes()) yield await network.run(() => listed)
    },
    close: () => store.close(),
  }
}

const asynchronousCells = (cells: Cells, network: Network): Cells => ({
  name: `asynchronous ${cells.name}`,
  capabilities: cells.capabilities,
  get: (id, v) => network.run(() => cells.get(id, v)),
  list: (pk, v) => network.run(() => cells.list(pk, v)),
  put: (id, draft, condition) => network.run(() => cells.put(id, draft, condition)),
  take: (id, take) => network.run(() => cells.take(id, take)),
  remove: (id, condition) => network.run(() => cells.remove(id, condition)),
  publish: (changes) => network.run(() => cells.publish(changes)),
  close: () => cells.close(),
})

/** The way to a store and back. */
export class Network {
  readonly #options: AsynchronousOptions
  readonly #random: Random

  constructor(options: AsynchronousOptions) {
    this.#options = options
    this.#random = options.random ?? seededRandom(1)
  }

  async run<T>(operation: () => T | Promise<T>): Promise<T> {
    const { failures, isCut } = this.#options
    const isFailing = this.#random() < (failures?.() ?? 0)
    const isDone = !isFailing || this.#random() < 0.5
    await this.#travel()
    const result = isDone && !isCut?.() ? await operation() : undefined
    await this.#travel()
    if (isFailing || isCut?.()) throw new Error('the connection to the store was lost')
    return result as T
  }

  async #travel(): Promise<void> {
    const { clock, maxDelayMs = 0, delayMs } = this.#options
    if (delayMs !== undefined || maxDelayMs > 0) {
      const delay = delayMs?.() ?? maxDelayMs * this.#random()
      await new Promise<void>((resolve) => void clock.after(delay, resolve))
    } else for (let turns = wholeNumber(this.#random, 0, 5); turns > 0; turns--) await Promise.resolve()
  }
}
