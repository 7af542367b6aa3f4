/**
 * Request tokens of busy clients are taken from their row in batches: a hit is served much faster than a row can be
 * changed. No request is admitted without a token. Tokens that are not used within a second are returned, so other
 * threads and nodes miss at most a small share of the capacity, and not for long.
 */
import type { Clock } from '../../core/clock.ts'
import { SingleTimer } from '../../core/single-timer.ts'
import type { AcquireRequest, LimitStatus, Permit, Refusal } from '../../limits/limit.ts'
import type { MaybePromise } from '../../stores/store.ts'

type Acquire = (request: Pick<AcquireRequest, 'entity' | 'consume'>) => MaybePromise<Permit | Refusal>

/** A batch is at most this share of the capacity, and at most this many tokens. */
const maxShare = 0.01
const maxTokens = 64
/** A batch that is used up this soon is followed by one that is twice as large. */
const soonMs = 100
const holdMs = 1000
/** Beyond so many clients at once, tokens are taken one by one. */
const maxClients = 10_000

/** Whose tokens are taken, and by which terms. */
interface Taker {
  readonly entity: string
  readonly terms: object
}

interface Batch {
  /** Limits may have changed since then. */
  readonly terms: object
  readonly changes: number
  permit: Permit | undefined
  left: number
  /** How many tokens the next batch has. */
  size: number
  takenAt: number
  pending: Promise<Permit | Refusal> | undefined
}

export class RequestTokens {
  readonly #clock: Clock
  readonly #changes: () => number
  readonly #batches = new Map<string, Batch>()
  readonly #sweeping: SingleTimer

  /** `changes`: how often limits were changed so far. A batch that was taken before is dropped: its tokens were of other limits. */
  constructor(clock: Clock, changes: () => number) {
    this.#clock = clock
    this.#changes = changes
    this.#sweeping = new SingleTimer(clock, () => this.#sweep())
  }

  /** Takes one token. Calls `acquire` where the batch of the client is empty. */
  take(taker: Taker, acquire: Acquire): MaybePromise<Permit | Refusal> {
    const { entity } = taker
    const batch = this.#batches.get(entity)
    if (batch === undefined || this.#isOutdated(batch, taker.terms)) return this.#first(taker, acquire)
    if (batch.left > 0) return tokenOf(batch)
    if (batch.pending === undefined) return this.#refill(batch, entity, acquire)
    // A refusal holds for all who waited for it.
    return batch.pending.then((outcome) => (outcome.ok ? this.take(taker, acquire) : outcome))
  }

  #isOutdated({ terms, changes }: Batch, now: object): boolean {
    return terms !== now || changes !== this.#changes()
  }

  #first({ entity, terms }: Taker, acquire: Acquire): MaybePromise<Permit | Refusal> {
    if (this.#batches.size >= maxClients) return acquire({ entity, consume: one })
    const made = { terms, changes: this.#changes() }
    const batch = { ...made, permit: undefined, left: 0, size: 1, takenAt: 0, pending: undefined }
    this.#batches.set(entity, batch)
    return this.#refill(batch, entity, acquire)
  }

  #refill(batch: Batch, entity: string, acquire: Acquire): MaybePromise<Permit | Refusal> {
    const isSoon = batch.permit !== undefined && this.#clock.elapsed() - batch.takenAt < soonMs
    const size = isSoon ? Math.min(2 * batch.size, largestOf(batch.permit!)) : batch.size
    const outcome = acquire({ entity, consume: { requests: size } })
    if (!(outcome instanceof Promise)) return this.#filled(batch, size, { entity, acquire, outcome })
    const pending = outcome
      .then((late) => this.#filled(batch, size, { entity, acquire, outcome: late }))
      .finally(() => {
        batch.pending = undefined
      })
    batch.pending = pending
    return pending
  }

  #filled(batch: Batch, size: number, { entity, acquire, outcome }: Filled): MaybePromise<Permit | Refusal> {
    this.#sweeping.start(holdMs)
    if (!outcome.ok) {
      batch.permit = undefined
      batch.size = 1
      // There may be some left, if not as many.
      return size === 1 ? outcome : acquire({ entity, consume: one })
    }
    batch.permit = outcome
    batch.size = size
    batch.takenAt = this.#clock.elapsed()
    // A permit that was not counted is not a batch of tokens.
    batch.left = outcome.isDegraded ? 1 : size
    return tokenOf(batch)
  }

  #sweep(): void {
    const now = this.#clock.elapsed()
    for (const [entity, batch] of this.#batches) {
      if (batch.pending !== undefined || now - batch.takenAt < holdMs) continue
      this.#batches.delete(entity)
      const isOwn = batch.left > 0 && batch.changes === this.#changes()
      if (isOwn) void batch.permit?.adjust({ requests: -batch.left })
    }
    if (this.#batches.size > 0) this.#sweeping.start(holdMs)
  }
}

interface Filled {
  readonly entity: string
  readonly acquire: Acquire
  readonly outcome: Permit | Refusal
}

const one = { requests: 1 }

/** One token of a batch. The tokens that are left of the batch count as available. */
function tokenOf(batch: Batch): Permit {
  const permit = batch.permit!
  const { source, isDegraded, limits } = permit
  const left = --batch.left
  return {
    ok: true,
    source,
    isDegraded,
    limits: left === 0 ? limits : limits.map((status) => withTokens(status, left)),
    adjust: (delta) => permit.adjust(delta),
    // Its own token, not the batch.
    refund: () => permit.adjust({ requests: -1 }),
  }
}

const withTokens = (status: LimitStatus, tokens: number): LimitStatus =>
  status.limit.name === 'requests' ? { ...status, available: status.available + tokens } : status

function largestOf({ limits }: Permit): number {
  const requests = limits.find(({ limit }) => limit.name === 'requests')
  if (requests === undefined) return maxTokens
  return Math.max(1, Math.min(maxTokens, Math.floor(requests.limit.capacity * maxShare)))
}
