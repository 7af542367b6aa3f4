/** Queries under way that their clients can cancel by the ids they gave them. */
import type { Backend } from '../backends/backend.ts'
import { headerOf } from '../core/headers.ts'
import type { IntervalCache } from '../engine/interval-cache.ts'
import type { Incoming } from './incoming.ts'
import type { Outgoing } from './outgoing.ts'

export class Cancels {
  readonly #backend: Backend
  readonly #cache: Pick<IntervalCache, 'isAsking'>
  readonly #waiting = new Map<string, Outgoing>()

  constructor(backend: Backend, cache: Pick<IntervalCache, 'isAsking'>) {
    this.#backend = backend
    this.#cache = cache
  }

  /** From now on until it is over, this query can be cancelled. */
  note(outgoing: Outgoing): void {
    const queryId = outgoing.plan?.queryId
    if (queryId !== undefined) this.#waiting.set(queryId, outgoing)
  }

  over(outgoing: Outgoing): void {
    const queryId = outgoing.plan?.queryId
    if (queryId !== undefined && this.#waiting.get(queryId) === outgoing) this.#waiting.delete(queryId)
  }

  /**
   * Whether the database need not hear of it: it does not know the id, since what is waited for is fetched under
   * another one, or others wait for what is fetched under this id. Who comes with other credentials than the query
   * came with has the database decide.
   */
  isSettledHere({ method, path, headers }: Incoming): boolean {
    const queryId = this.#backend.cancels?.(method, path)
    const outgoing = queryId === undefined ? undefined : this.#waiting.get(queryId)
    if (queryId === undefined || outgoing === undefined || !isSameClient(outgoing, headers)) return false
    const isKnown = outgoing.isForwarded || this.#cache.isAsking(queryId)
    outgoing.cancel(this.#backend.cancelledAnswer!(outgoing.plan!))
    return !isKnown || this.#cache.isAsking(queryId)
  }
}

const isSameClient = ({ wire }: Outgoing, headers: Incoming['headers']): boolean =>
  headerOf(wire?.headers ?? [], 'authorization') === headerOf(headers, 'authorization') &&
  headerOf(wire?.headers ?? [], 'cookie') === headerOf(headers, 'cookie')
