/** One request to a healthy database, and one retry, to another one if there is one, where the first fails in time. */
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Broken } from '../../engine/ports.ts'
import type { Choice, Endpoints } from './choice.ts'
import type { Endpoint } from './endpoint.ts'
import { isFaultOf } from './errors.ts'
import type { Attempts, ResponseReader } from './response.ts'
import type { SlotKind } from './slots.ts'

export interface UpstreamRequest {
  readonly method: string
  /** With the search. */
  readonly path: string
  readonly body: Uint8Array | Readable | null
  /** Whether it may be sent twice. */
  readonly isSafe: boolean
  /** How long it may take until the next byte, if not as long as usual. */
  readonly patienceMs?: number
  /** Which part of the connections it may use; the cache's by default. */
  readonly slot?: SlotKind
  /** Only a health check: a server error is a bad sign. */
  readonly isProbe?: boolean
  /** Its headers for one of the databases, with the credentials for that one; or why there are none. */
  headersFor(endpoint: Endpoint): string[] | { readonly error: string }
}

export class RequestAttempts implements Attempts {
  readonly #endpoints: Endpoints
  readonly #request: UpstreamRequest
  #reader: ResponseReader | undefined
  #endpoint: Endpoint | undefined
  #isTrial = false
  #hasBegun = false
  #isAnswered = false
  #isRepeated = false
  /** The error of another database. */
  #earlier: string | undefined

  constructor(endpoints: Endpoints, request: UpstreamRequest) {
    this.#endpoints = endpoints
    this.#request = request
  }

  begin(reader: ResponseReader): void {
    this.#reader = reader
    reader.begin()
    const broken = this.#attempt(reader, this.#endpoints.first(this.#request.isSafe))
    // Not before the caller has the call in hand.
    if (broken !== undefined) queueMicrotask(() => reader.fail(broken))
  }

  begun(): void {
    this.#hasBegun = true
  }

  answered(status: number): void {
    this.#isAnswered = true
    const health = this.#endpoint!.health
    if (this.#request.isProbe === true && status >= 500) health.failed(this.#isTrial, `status ${status}`)
    else health.answered()
  }

  failed(error: Error): Broken | undefined {
    const failed = this.#endpoint!
    const isTheirs = isFaultOf(error, this.#request.body)
    const meaning = failed.meaningOf(error)
    if (isTheirs) failed.health.failed(this.#isTrial, meaning)
    this.ended()
    const detail = this.#named(failed, meaning)
    const next = isTheirs ? this.#next(failed) : undefined
    if (next === undefined)
      return unreachable(this.#earlier === undefined ? detail : `${this.#earlier}; ${detail}`)
    if (next.endpoint !== failed) this.#earlier = detail
    this.#isRepeated = true
    this.#hasBegun = false
    this.#isAnswered = false
    return this.#attempt(this.#reader!, next)
  }

  /** The database for the retry, if that does no harm and no byte of the response was forwarded. */
  #next(failed: Endpoint): Choice | undefined {
    const { isSafe, isProbe } = this.#request
    const isFree = isSafe && !this.#isRepeated && !isProbe && (!this.#isAnswered || this.#reader!.restart())
    // Only for a retry: choosing a database may begin its trial.
    const other = isFree ? this.#endpoints.other(failed) : undefined
    // Without a byte of a response it may be down: that is one query for each request.
    return other ?? (isFree && this.#hasBegun ? { endpoint: failed, isTrial: false } : undefined)
  }

  /** Another database would most likely need as long: it is not tried. */
  timedOut(): void {
    this.#endpoint?.health.failed(this.#isTrial, 'no answer in time')
  }

  ended(): void {
    if (this.#endpoint === undefined) return
    if (this.#isTrial) this.#endpoint.health.endTrial()
    this.#endpoint = undefined
    this.#isTrial = false
  }

  /** An error that keeps the request from being sent is no fault of the database. */
  #attempt(reader: ResponseReader, chosen: Choice): Broken | undefined {
    const { endpoint } = chosen
    this.#endpoint = endpoint
    this.#isTrial = chosen.isTrial
    const { method, path, body } = this.#request
    const obstacle = endpoint.obstacle
    const headers = obstacle === undefined ? this.#request.headersFor(endpoint) : { error: obstacle }
    if (!Array.isArray(headers)) return unreachable(this.#named(endpoint, headers.error))
    try {
      endpoint.dispatch(
        { method: method as Dispatcher.HttpMethod, path, headers, body: body as Readable | null },
        reader,
      )
      return undefined
    } catch (error) {
      return unreachable(this.#named(endpoint, endpoint.meaningOf(error)))
    }
  }

  #named(endpoint: Endpoint, detail: string): string {
    return this.#endpoints.all.length === 1 ? detail : `${endpoint.name}: ${detail}`
  }
}

const unreachable = (detail: string): Broken => ({ reason: 'database_unreachable', detail })
