/** Queries under way that their clients can cancel by the ids they gave them. */
import type { Backend, Cancellation, HeaderList } from '../../backends/backend.ts'
import { type Identity, identityOf } from '../../engine/http/identity.ts'
import type { IntervalCache } from '../../engine/interval-cache.ts'
import type { Incoming } from './incoming.ts'
import type { Outgoing } from './outgoing.ts'

/** Queries of one id, each with the identity of its partition. */
type Waiting = Map<Outgoing, Identity>

export class Cancels {
  readonly #cancellation: Cancellation | undefined
  readonly #cache: Pick<IntervalCache, 'isAsking'>
  /** By id: clients may give one id to several queries. */
  readonly #waiting = new Map<string, Waiting>()

  constructor({ cancellation }: Pick<Backend, 'cancellation'>, cache: Pick<IntervalCache, 'isAsking'>) {
    this.#cancellation = cancellation
    this.#cache = cache
  }

  /** From now on until it is over, this query can be cancelled. */
  note(outgoing: Outgoing, identity: Identity): void {
    const queryId = outgoing.plan?.queryId
    if (queryId === undefined) return
    const waiting = this.#waiting.get(queryId)
    if (waiting === undefined) this.#waiting.set(queryId, new Map([[outgoing, identity]]))
    else waiting.set(outgoing, identity)
  }

  forget(outgoing: Outgoing): void {
    const queryId = outgoing.plan?.queryId
    const waiting = queryId === undefined ? undefined : this.#waiting.get(queryId)
    if (waiting?.delete(outgoing) && waiting.size === 0) this.#waiting.delete(queryId!)
  }

  /**
   * Whether the cancel request need not be forwarded: other clients wait for the query of this id, or there is none. A
   * cancel request of another client is forwarded: the database decides whether that client may cancel the query.
   */
  isSettledHere({ method, path, headers }: Incoming): boolean {
    const queryId = this.#cancellation?.cancels(method, path)
    const waiting = queryId === undefined ? undefined : this.#waiting.get(queryId)
    if (queryId === undefined || waiting === undefined) return false
    const own = [...waiting].flatMap(([outgoing, identity]) =>
      isSameClient(outgoing.wire?.headers ?? [], headers, identity) ? [outgoing] : [],
    )
    if (own.length === 0) return false
    const wasAsked = this.#cache.isAsking(queryId)
    const isPassedOn = own.some(({ isForwarded }) => isForwarded)
    for (const outgoing of own) outgoing.cancel(this.#cancellation!.cancelledAnswer(outgoing.plan!))
    return !isPassedOn && (!wasAsked || this.#cache.isAsking(queryId))
  }
}

/**
 * The same partition, and the same credentials. Where a partition holds several users, they may read each other's
 * answers; cancelling each other's queries is for the database to allow.
 */
const isSameClient = (one: HeaderList, other: HeaderList, identity: Identity): boolean =>
  identityOf(one, identity) === identityOf(other, identity) &&
  identityOf(one, 'separate') === identityOf(other, 'separate')
