/** A store that reports every lookup: a request after its lookup waits, or is about to be answered. */
import { scheduler } from 'node:timers/promises'
import type { Store } from '../../src/stores/store.ts'

export class Lookups {
  #count = 0
  #heard: (() => void)[] = []

  get count(): number {
    return this.#count
  }

  of(store: Store): Store {
    return {
      ...delegate(store),
      read: (key, interval) => {
        this.#count++
        for (const resolve of this.#heard.splice(0)) resolve()
        return store.read(key, interval)
      },
    }
  }

  /** Until there were so many, and the requests have gone on as far as they can. */
  async until(count: number): Promise<void> {
    while (this.#count < count) await new Promise<void>((resolve) => this.#heard.push(resolve))
    await scheduler.yield()
  }
}

/** The same store, to be changed in part. */
export const delegate = (store: Store): Store => ({
  name: store.name,
  record: (key) => store.record(key),
  read: (key, interval) => store.read(key, interval),
  write: (key, entry) => store.write(key, entry),
  remove: (key, interval) => store.remove(key, interval),
  shapes: () => store.shapes(),
  close: () => store.close(),
})
