/** Queries the database for an answer that is cached as a whole. The result is a value, also on failure. */
import type { Decomposed, HeaderList, ResponseEnds, Sink } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { gridThrough } from '../../core/grid.ts'
import { nothing } from '../../core/interval.ts'
import type { LifetimeLimits } from '../../core/lifetime.ts'
import { Backlog } from '../backlog.ts'
import {
  type Abandoned,
  type DatabaseFailure,
  type DatabaseRefusal,
  isDownAfter,
  type UnusableAnswer,
} from '../fetch.ts'
import { type AnswerTerms, type Forbidden, termsOf } from '../http/answer-terms.ts'
import { Intake } from '../intake.ts'
import type { Client } from '../trip.ts'
import type { WholeCacheOptions, WholeRequest } from './whole-request.ts'

interface WholeFetchOptions extends WholeCacheOptions {
  readonly backlog: Backlog
  /** Longer answers are passed on and not stored. */
  readonly maxBodyBytes: number
}

export interface Fetched {
  readonly kind: 'answer'
  readonly body: Buffer
  /** All that the database sent. */
  readonly headers: HeaderList
  /** Taken before the query was sent. */
  readonly generatedAt: EpochMs
  /** Why it may be neither stored nor given to another request. */
  readonly forbidden?: Forbidden | undefined
  /** False where the answer is incomplete. */
  readonly isComplete: boolean
  /** How long the database lets it be used. */
  readonly limits: LifetimeLimits
}

export type WholeResult = Fetched | DatabaseRefusal | DatabaseFailure | UnusableAnswer | Abandoned

export interface WholeFetch {
  readonly result: Promise<WholeResult>
  /** Whether the client is given the response while it arrives. */
  readonly isStreaming: boolean
  /** Resolves when nothing more will be written to the client. */
  readonly delivered: Promise<void>
  /** The client is gone, or is given another answer. */
  dropTarget(): void
  cancel(): void
}

type Asked = Pick<WholeRequest, 'plan' | 'partition' | 'target'>

/** Whole answers have no buckets. */
export const noGrid = gridThrough('point', 1, 0)

/** The share of all memory that one answer may take: one long list must not evict the buckets of many panels. */
const bodyShare = 1 / 64

/** On the wire; a longer response is given to its client while it arrives. */
const withheldBytes = 256 * 1024

/** Queries one database, and waits for it: not for long where it was down at the last query. */
export class WholeFetcher {
  readonly #options: WholeFetchOptions
  #isDatabaseDown = false

  constructor(options: WholeCacheOptions) {
    const { budget, clock, maxAnswerBytes, backlog = new Backlog(clock) } = options
    const maxBodyBytes = Math.min(maxAnswerBytes, budget.limit * bodyShare)
    this.#options = { ...options, backlog, maxBodyBytes }
  }

  fetch(asked: Asked): WholeFetch {
    const fetch = fetchWhole(this.#options, asked)
    void fetch.result.then((result) => {
      this.#isDatabaseDown = isDownAfter(result, this.#isDatabaseDown)
    })
    return fetch
  }

  /**
   * Resolves as `pending` does; or with the result of `instead` once the patience with the database ends, unless that is
   * undefined; or when the client has disconnected.
   */
  orInstead<T, S>(
    pending: Promise<T>,
    client: Client,
    instead: () => S | undefined | Promise<S | undefined>,
  ): Promise<T | S | 'gone'> {
    const { clock, patienceMs } = this.#options
    return new Promise((resolve, reject) => {
      const timer = clock.after(this.#isDatabaseDown ? patienceMs.down : patienceMs.slow, async () => {
        const other = await Promise.resolve(instead()).catch(() => undefined)
        if (other !== undefined) resolve(other)
      })
      client.onGone(() => resolve('gone'))
      pending.then(resolve, reject).finally(() => timer.cancel())
    })
  }
}

function fetchWhole(options: WholeFetchOptions, { plan, partition, target }: Asked): WholeFetch {
  const { backend, upstream, clock, budget, backlog, maxBodyBytes, onFetch } = options
  const generatedAt = clock.now()
  const sentAt = clock.elapsed()
  const client = {
    headers: plan.request.headers,
    partition,
    encodingHeaders: backend.capabilities.encodingHeaders ?? [],
  }
  let terms: AnswerTerms | undefined
  let sink: WholeSink | undefined
  const intake = new Intake({
    ...{ fetchedAt: generatedAt, budget, backlog, maxAnswerBytes: maxBodyBytes, target, withheldBytes },
    termsOf: (headers) => {
      terms = termsOf(headers, client, generatedAt)
      return terms
    },
    newSink: () => {
      sink = new WholeSink((body, response) => backend.whole?.isComplete?.(body, plan, response) ?? true)
      return sink
    },
    land: async (result) => {
      onFetch?.({ result, intervals: nothing, grid: noGrid, durationMs: clock.elapsed() - sentAt })
    },
  })
  const accept = target?.encoding ?? upstream.preferredEncoding
  intake.sent(upstream.send(plan.request, accept, intake))
  return {
    result: intake.result.then((result) => {
      if (result.kind !== 'panes') return result
      // `storable` is false also where storing is forbidden, and then no other request gets it.
      const { headers, storable: isComplete } = result
      const { forbidden, limits } = terms!
      return { kind: 'answer', body: sink!.body, headers, generatedAt, forbidden, limits, isComplete }
    }),
    get isStreaming() {
      return intake.isStreaming
    },
    delivered: intake.delivered,
    dropTarget: () => intake.dropTarget(),
    cancel: () => intake.cancel(),
  }
}

/** Keeps the body it is given. */
class WholeSink implements Sink {
  readonly #isComplete: (body: Buffer, response: ResponseEnds) => boolean
  #chunks: Buffer[] = []
  #length = 0
  #body: Buffer | undefined

  constructor(isComplete: (body: Buffer, response: ResponseEnds) => boolean) {
    this.#isComplete = isComplete
  }

  get held(): number {
    return this.#length
  }

  get body(): Buffer {
    return this.#body!
  }

  write(chunk: Uint8Array): void {
    this.#length += chunk.length
    this.#chunks.push(Buffer.from(chunk))
  }

  end(_fetchedAt: EpochMs, response: ResponseEnds): Decomposed {
    this.#body = Buffer.concat(this.#chunks)
    this.#chunks = []
    return { panes: [], storable: this.#isComplete(this.#body, response) }
  }
}
