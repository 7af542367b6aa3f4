/**
 * A store as it is behind a network: every operation is a promise, takes its time on the way there and back, may be
 * done in another order than it was called in, and may fail late, before or after it was done. It can also throw at
 * once, return short pages and lose acknowledged writes. For tests of the users of a store: each fault has a share of
 * the operations, which a test may change while it runs.
 */
import { type Clock, pause } from '../core/clock.ts'
import type { CellId, Cells } from '../stores/cells.ts'
import { cellsThrough } from '../stores/cells-through.ts'
import type { Found, MaybePromise, Store } from '../stores/store.ts'
import { clip } from '../stores/tile.ts'
import { type Random, seededRandom, wholeNumber } from './random.ts'

/** 0 to 1, called for every operation. */
type Share = () => number

export interface AsynchronousOptions {
  readonly clock: Clock
  /** Decides delays and faults; a fixed sequence by default. */
  readonly random?: Random
  /** Each way takes up to this long on the clock; 0 by default: some turns of the microtask queue, and no time. */
  readonly maxDelayMs?: number | (() => number)
  /** Operations that fail. Half of them were done all the same. */
  readonly failures?: Share
  /** Operations that throw at once instead of returning a promise. */
  readonly throws?: Share
  /** Reads that return only a part of the buckets that they found. */
  readonly shortReads?: Share
  /** Writes of panes and cells that are acknowledged and then lost, as by a replica that takes over. */
  readonly lostWrites?: Share
  /** How long each way takes, where that is no uniform distribution. */
  readonly delayMs?: () => number
  /** Nothing arrives any more, in either direction, and every operation fails. */
  readonly isCut?: () => boolean
}

export function asynchronous(store: Store, options: AsynchronousOptions): Store {
  const network = new Network(options)
  return {
    name: `asynchronous ${store.name}`,
    ...(store.cells && { cells: asynchronousCells(store.cells, network) }),
    record: (key) => network.run(() => store.record(key)),
    read: (key, interval, stale) =>
      network.run(async () => network.tear(await store.read(key, interval, stale))),
    ...(store.peek && {
      peek: (key, interval) => network.run(async () => network.tear(await store.peek!(key, interval))),
    }),
    write: (key, entry) => network.run(() => network.isLost() || store.write(key, entry)),
    remove: (key, interval, fetchedUntil) => network.run(() => store.remove(key, interval, fetchedUntil)),
    async *shapes() {
      for await (const listed of store.shapes()) yield await network.run(() => listed)
    },
    ...(store.hasNews && { hasNews: (key) => network.run(() => store.hasNews!(key)) }),
    ...(store.onNews && {
      onNews: (listener) => store.onNews!((...news) => network.announce(() => listener(...news))),
    }),
    ...(store.figures && { figures: () => store.figures!() }),
    close: () => store.close(),
  }
}

export const asynchronousCells = (cells: Cells, network: Network): Cells => ({
  ...cellsThrough(cells, (operation) => network.run(operation)),
  name: `asynchronous ${cells.name}`,
  put: (id, draft, condition) =>
    network.run(() => network.orLost(cells, [{ id, v: draft.v }], () => cells.put(id, draft, condition))),
  publish: (changes) => {
    const puts = changes.flatMap((change) => ('put' in change ? [{ id: change.id, v: change.put.v }] : []))
    return network.run(() => network.orLost(cells, puts, () => cells.publish(changes)))
  },
})

interface RowOf {
  readonly id: CellId
  readonly v: number
}

/** The way to a store and back. */
export class Network {
  readonly #options: AsynchronousOptions
  readonly #random: Random

  constructor(options: AsynchronousOptions) {
    this.#options = options
    this.#random = options.random ?? seededRandom(1)
  }

  run<T>(operation: () => MaybePromise<T>): Promise<T> {
    if (this.#happens(this.#options.throws)) throw new Error('the client of the store is broken')
    return this.#run(operation)
  }

  /** Nobody waits for an announcement: it is late, or lost. */
  announce(action: () => void): void {
    void this.#run(async () => action()).catch(() => {})
  }

  isLost(): boolean {
    return this.#happens(this.#options.lostWrites)
  }

  /** Carries out a change of rows; where it is to be lost, the rows are as before afterwards. */
  async orLost<T>(cells: Cells, rows: readonly RowOf[], change: () => MaybePromise<T>): Promise<T> {
    if (!this.isLost()) return change()
    const before = await Promise.all(rows.map(({ id, v }) => cells.get(id, v)))
    const outcome = await change()
    for (const [i, { id, v }] of rows.entries()) {
      const [old, now] = [before[i], await cells.get(id, v)]
      if (now === undefined || now.rev === old?.rev) continue
      const unchanged = { is: 'revision', rev: now.rev } as const
      if (old === undefined) await cells.remove(id, unchanged)
      else await cells.put(id, old, unchanged)
    }
    return outcome
  }

  /** The first buckets, or the last ones. */
  tear(found: Found | undefined): Found | undefined {
    const [first, last] = [found?.panes[0], found?.panes.at(-1)]
    if (first === undefined || last === undefined || !this.#happens(this.#options.shortReads)) return found
    const cut = wholeNumber(this.#random, first.from, last.to)
    const kept = this.#random() < 0.5 ? { from: first.from, to: cut } : { from: cut, to: last.to }
    return { ...found!, panes: clip(found!.panes, kept) }
  }

  async #run<T>(operation: () => MaybePromise<T>): Promise<T> {
    const { failures, isCut } = this.#options
    const isFailing = this.#random() < (failures?.() ?? 0)
    const isDone = !isFailing || this.#random() < 0.5
    await this.#travel()
    const result = isDone && !isCut?.() ? await operation() : undefined
    await this.#travel()
    if (isFailing || isCut?.()) throw new Error('the connection to the store was lost')
    return result as T
  }

  /** Faults without a share draw no random numbers. */
  #happens(share: Share | undefined): boolean {
    return share !== undefined && this.#random() < share()
  }

  async #travel(): Promise<void> {
    const { clock, maxDelayMs = 0, delayMs } = this.#options
    const maxMs = typeof maxDelayMs === 'number' ? maxDelayMs : maxDelayMs()
    if (delayMs !== undefined || maxMs > 0) {
      const delay = delayMs?.() ?? maxMs * this.#random()
      await pause(clock, delay)
    } else for (let turns = wholeNumber(this.#random, 0, 5); turns > 0; turns--) await Promise.resolve()
  }
}
