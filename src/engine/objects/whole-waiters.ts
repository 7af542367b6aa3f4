/** Requests of this process that wait for an object. The last one to leave cancels the fetch. */
import type { WholeFetch } from './whole-fetch.ts'

interface Waiting {
  count: number
  fetch: WholeFetch | undefined
}

export class Waiters {
  readonly #waiting = new Map<string, Waiting>()

  /**
   * Returns the function that removes the waiter, once: because the client has disconnected or because it has its
   * answer.
   */
  enter(key: string, fetch: WholeFetch | undefined): (isGone: boolean) => void {
    const waiting: Waiting = this.#waiting.get(key) ?? { count: 0, fetch }
    this.#waiting.set(key, waiting)
    waiting.count++
    let hasLeft = false
    return (isGone) => {
      if (hasLeft) return
      hasLeft = true
      waiting.count--
      if (waiting.count > 0) return
      this.#waiting.delete(key)
      if (isGone) waiting.fetch?.cancel()
    }
  }

  /** A query for an object is in progress. */
  fetching(key: string, fetch: WholeFetch): void {
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) waiting.fetch = fetch
  }
}
