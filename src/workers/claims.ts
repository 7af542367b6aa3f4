/**
 * Claims between threads of one process. The main thread has the table; a thread sends it a message before it sends a
 * query. Inside a thread flights.ts has decided already; here the same rules hold between threads.
 */
import type { Edges } from '../backends/backend.ts'
import type { Key } from '../core/key.ts'
import type { Claim, Claims, FlightEnd, Verdict, Wanted } from '../engine/claims.ts'
import type { Look } from '../engine/fetch.ts'
import { isWorthAwaiting } from '../engine/flights.ts'
import type { StoreName } from './cache/messages.ts'

export type ToClaimTable =
  | {
      readonly kind: 'claim'
      readonly claim: number
      readonly store: StoreName
      readonly wanted: Wanted
      /** The revision of the key that the thread has seen. */
      readonly seen: number
    }
  | { readonly kind: 'release'; readonly claim: number; readonly end: FlightEnd }

export interface FromClaimTable {
  readonly kind: 'claimed'
  readonly claim: number
  readonly verdict: Verdict
}

interface OpenClaim extends Pick<Wanted, 'key' | 'intervals' | 'startedAt'> {
  readonly edges: Edges | undefined
  readonly thread: number
  readonly waiting: Map<string, (end: FlightEnd) => void>
  /** With other nodes. */
  readonly outer: Claim | undefined
  /** Of the flight of another node that it waited for: its waiters did, too. */
  look?: Look
}

export interface ClaimTableOptions {
  readonly send: (thread: number, message: FromClaimTable) => void
  /** Whether a newer revision of a key is stored than a thread has seen; the thread has been notified by then. */
  readonly isNews: (key: Key, seen: number) => boolean
  /** Where other nodes fetch for a store. */
  readonly outer?: (store: StoreName) => Claims | undefined
}

/** The main thread's side. A waiter holds no claim, so that no thread can wait for itself. */
export class ClaimTable {
  readonly #options: ClaimTableOptions
  readonly #open = new Map<string, OpenClaim>()
  readonly #byKey = new Map<Key, Set<OpenClaim>>()

  constructor(options: ClaimTableOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#open.size
  }

  receive(thread: number, message: ToClaimTable): void {
    if (message.kind === 'release') this.#release(nameOf(thread, message.claim), message.end)
    else this.#claim(thread, message)
  }

  /** The thread has ended: its waiters continue. */
  close(thread: number): void {
    const isOfThread = (name: string) => name.startsWith(`${thread} `)
    for (const { waiting } of this.#open.values()) {
      for (const name of [...waiting.keys()].filter(isOfThread)) waiting.delete(name)
    }
    for (const name of [...this.#open.keys()].filter(isOfThread)) this.#release(name, 'abandoned')
  }

  #claim(thread: number, { claim, store, wanted, seen }: ToClaimTable & { kind: 'claim' }): void {
    const answer = (verdict: Verdict) => this.#options.send(thread, { kind: 'claimed', claim, verdict })
    const { key, intervals, edges, startedAt, isImpatient } = wanted
    if (!isImpatient && this.#options.isNews(key, seen)) {
      answer({})
      return
    }
    const other = isImpatient ? undefined : this.#otherFlight(thread, wanted)
    if (other !== undefined) {
      other.waiting.set(nameOf(thread, claim), (end) =>
        answer(other.look ?? { acceptFrom: other.startedAt, isInVain: end === 'unstored' }),
      )
      return
    }
    const outer = this.#options.outer?.(store)?.claim(wanted)
    const open: OpenClaim = { thread, key, intervals, edges, startedAt, waiting: new Map(), outer }
    this.#add(nameOf(thread, claim), open)
    if (outer === undefined) answer('go')
    else
      void outer.verdict.then((verdict) => {
        if (verdict !== 'go') open.look = verdict
        answer(verdict)
      })
  }

  #otherFlight(thread: number, wanted: Wanted): OpenClaim | undefined {
    const isOther = (open: OpenClaim) =>
      open.thread !== thread && isWorthAwaiting(open, wanted.intervals, wanted)
    return this.#byKey.get(wanted.key)?.values().find(isOther)
  }

  #add(name: string, open: OpenClaim): void {
    this.#open.set(name, open)
    const others = this.#byKey.get(open.key)
    if (others === undefined) this.#byKey.set(open.key, new Set([open]))
    else others.add(open)
  }

  #release(name: string, end: FlightEnd): void {
    const open = this.#open.get(name)
    if (open === undefined) {
      for (const { waiting } of this.#open.values()) waiting.delete(name)
      return
    }
    this.#open.delete(name)
    const others = this.#byKey.get(open.key)
    others?.delete(open)
    if (others?.size === 0) this.#byKey.delete(open.key)
    open.outer?.release(end)
    for (const goOn of open.waiting.values()) goOn(end)
  }
}

const nameOf = (thread: number, claim: number): string => `${thread} ${claim}`

export interface RemoteClaimsOptions {
  readonly send: (message: ToClaimTable) => void
  /** The revision of a key that this thread has seen. */
  readonly revisionOf: (key: Key) => number
}

/** A thread's side. */
export class RemoteClaims {
  readonly #options: RemoteClaimsOptions
  readonly #waiting = new Map<number, (verdict: Verdict) => void>()
  #last = 0

  constructor(options: RemoteClaimsOptions) {
    this.#options = options
  }

  of(store: StoreName): Claims {
    return { claim: (wanted) => this.#claim(store, wanted) }
  }

  #claim(store: StoreName, wanted: Wanted): Claim {
    const { send, revisionOf } = this.#options
    const claim = ++this.#last
    const verdict = new Promise<Verdict>((resolve) => this.#waiting.set(claim, resolve))
    send({ kind: 'claim', claim, store, wanted, seen: revisionOf(wanted.key) })
    return {
      verdict,
      release: (end) => {
        this.#waiting.delete(claim)
        send({ kind: 'release', claim, end })
      },
    }
  }

  receive({ claim, verdict }: FromClaimTable): void {
    this.#waiting.get(claim)?.(verdict)
    this.#waiting.delete(claim)
  }
}
