/** Queries under way that their clients can cancel by the ids they gave them. */
import type { Backend, Cancellation } from '../../backends/backend.ts'
import { headerOf } from '../../core/headers.ts'
import type { IntervalCache } from '../../engine/interval-cache.ts'
import type { Incoming } from './incoming.ts'
import type { Outgoing } from './outgoing.ts'

export class Cancels {
  readonly #cancellation: Cancellation | undefined
  readonly #cache: Pick<IntervalCache, 'isAsking'>
  /** By id: nobody keeps clients from giving one id to several queries. */
  readonly #waiting = new Map<string, Set<Outgoing>>()

  constructor({ cancellation }: Pick<Backend, 'cancellation'>, cache: Pick<IntervalCache, 'isAsking'>) {
    this.#cancellation = cancellation
    this.#cache = cache
  }

  /** From now on until it is over, this query can be cancelled. */
  note(outgoing: Outgoing): void {
    const queryId = outgoing.plan?.queryId
    if (queryId === undefined) return
    const waiting = this.#waiting.get(queryId)
    if (waiting === undefined) this.#waiting.set(queryId, new Set([outgoing]))
    else waiting.add(outgoing)
  }

  forget(outgoing: Outgoing): void {
    const queryId = outgoing.plan?.queryId
    const waiting = queryId === undefined ? undefined : this.#waiting.get(queryId)
    if (waiting?.delete(outgoing) && waiting.size === 0) this.#waiting.delete(queryId!)
  }

  /**
   * Whether the database need not hear of it: others wait for what is fetched under this id, or nothing is. Who comes
   * with other credentials than the query came with has the database decide.
   */
  isSettledHere({ method, path, headers }: Incoming): boolean {
    const queryId = this.#cancellation?.cancels(method, path)
    if (queryId === undefined) return false
    const own = [...(this.#waiting.get(queryId) ?? [])].filter((outgoing) => isSameClient(outgoing, headers))
    if (own.length === 0) return false
    const wasAsked = this.#cache.isAsking(queryId)
    const isPassedOn = own.some(({ isForwarded }) => isForwarded)
    for (const outgoing of own) outgoing.cancel(this.#cancellation!.cancelledAnswer(outgoing.plan!))
    return !isPassedOn && (!wasAsked || this.#cache.isAsking(queryId))
  }
}

const isSameClient = ({ wire }: Outgoing, headers: Incoming['headers']): boolean =>
  headerOf(wire?.headers ?? [], 'authorization') === headerOf(headers, 'authorization') &&
  headerOf(wire?.headers ?? [], 'cookie') === headerOf(headers, 'cookie')
