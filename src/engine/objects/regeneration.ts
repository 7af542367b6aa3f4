/**
 * Regenerates an object once, however many nodes want it: under its lease, or by waiting for its holder. Where the
 * store cannot be reached, this process renders for itself. A successful render is served whatever the store does.
 */
import { type Clock, type EpochMs, pause } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import { newUuid } from '../../core/uuid.ts'
import { pollDelay } from '../claim-polls.ts'
import { commit } from './commit.ts'
import type { Generations } from './generations.ts'
import { storedHeaders } from './http-freshness.ts'
import type { StoredObject } from './near-objects.ts'
import { collectAtOf, isKeptFor, nothingKept, type TermsMs, termsMs } from './object-clocks.ts'
import { type HeldElsewhere, ObjectLease, type ObjectLeases } from './object-lease.ts'
import { etagOf, type ObjectName } from './object-names.ts'
import { type Meta, type ObjectRows, stateOf, type Version } from './object-rows.ts'
import type { Render } from './objects.ts'
import { isError, isStored, type RenderedObject, renderedOf } from './render.ts'

export interface RegenerationOptions {
  readonly clock: Clock
  readonly generations: Generations
  /** Undefined where the store has no cells. */
  readonly shared: { readonly rows: ObjectRows; readonly leases: ObjectLeases } | undefined
  readonly waitMs: number
  readonly bufferSeconds: number
  readonly maxObjectBytes: number
}

export interface Job {
  readonly name: ObjectName
  readonly render: Render
  readonly terms: TermsMs
  /**
   * The state that the lookup found in the store, which therefore is no news; undefined where the store could not be
   * read.
   */
  readonly known: string | undefined
  isFresh(version: Version): boolean
  /** An object generated before this is no news. */
  readonly newsFrom: EpochMs
}

export type RegenerationOutcome =
  /**
   * `isKept`: it may be served to later requests. `isShareable`: it may be served to the requests that waited for it.
   */
  | {
      readonly is: 'rendered'
      readonly object: StoredObject
      readonly isKept: boolean
      readonly isShareable: boolean
    }
  /** Another node regenerated it. */
  | { readonly is: 'found'; readonly object: StoredObject }
  /** `object`: the error response, where the render returned one. */
  | { readonly is: 'failed'; readonly failure: unknown; readonly object?: StoredObject }

export class Regeneration {
  readonly #options: RegenerationOptions

  constructor(options: RegenerationOptions) {
    this.#options = options
  }

  async run(job: Job): Promise<RegenerationOutcome> {
    const { shared } = this.#options
    if (shared === undefined || !isKeptFor(job.terms)) return this.#render(job)
    let lease: ObjectLease | undefined
    try {
      const acquired = await this.#acquire(job, shared.leases)
      if ('is' in acquired) return acquired
      lease = acquired
    } catch {
      return this.#render(job)
    }
    // The render is to know of every invalidation before it, or it would not count as newer than those.
    const [meta] = await Promise.all([this.#read(job), this.#options.generations.look(job.name.tenant)])
    const found = await this.#foundIn(job, meta)
    if (found === undefined) return this.#render(job, lease, meta)
    void lease.release()
    return found
  }

  /** Rejects where the store cannot be reached. */
  async #acquire(job: Job, leases: ObjectLeases): Promise<ObjectLease | RegenerationOutcome> {
    const { clock, waitMs } = this.#options
    const { pk } = job.name
    let acquired = await leases.acquire(pk)
    const began = clock.elapsed()
    while (!(acquired instanceof ObjectLease)) {
      const waitedMs = clock.elapsed() - began
      const isLast = waitedMs >= waitMs
      const holder: HeldElsewhere = acquired
      if (!isLast) {
        await this.#pause(waitedMs, holder)
        // Publishing removes the lease: while it is there, nothing is new.
        const now = await leases.holder(pk)
        if (now?.token === holder.token) {
          acquired = now
          continue
        }
      }
      const found = await this.#foundIn(job, await this.#read(job))
      if (found !== undefined) return found
      acquired = await leases.acquire(pk)
      if (isLast && !(acquired instanceof ObjectLease)) return { is: 'failed', failure: busy() }
    }
    return acquired
  }

  async #pause(waitedMs: number, { until }: HeldElsewhere): Promise<void> {
    const { clock, waitMs } = this.#options
    const leaseMs = Math.max(0, until - clock.now())
    const delayMs = Math.min(pollDelay({ waitedMs, flownMs: 0, expectedMs: 0, leaseMs }), waitMs - waitedMs)
    await pause(clock, delayMs)
  }

  async #read({ name }: Job): Promise<Meta | undefined> {
    const { shared, clock } = this.#options
    return shared?.rows.read(name.pk, clock.now()).catch(() => undefined)
  }

  /**
   * The object that another node has published since the lookup. It counts even if it is not fresh any more: it was
   * awaited.
   */
  async #foundIn(job: Job, meta: Meta | undefined): Promise<RegenerationOutcome | undefined> {
    const { shared, generations } = this.#options
    if (shared === undefined || meta === undefined || stateOf(meta.current) === job.known) return undefined
    const isInvalid =
      meta.current.generatedAt < job.newsFrom ||
      generations.invalidatedAt(job.name, meta.current) !== undefined
    const isNews = job.known !== undefined && !isInvalid
    if (!isNews && !job.isFresh(meta.current)) return undefined
    const body = await shared.rows.readBody(job.name.pk, meta.current).catch(() => undefined)
    return body && { is: 'found', object: { version: meta.current, body } }
  }

  async #render(job: Job, lease?: ObjectLease, meta?: Meta): Promise<RegenerationOutcome> {
    const { clock, generations, shared } = this.#options
    const generation = generations.generation(job.name.tenant)
    const generatedAt = clock.now()
    let rendered: RenderedObject
    try {
      rendered = renderedOf(await job.render())
    } catch (failure) {
      void lease?.release()
      return { is: 'failed', failure }
    }
    const object = this.#objectOf(job, rendered, { generatedAt, generation })
    const isKept = isKeptFor(object.version.terms)
    if (!isKept) {
      void lease?.release()
      const failure = new Error(`the response has status ${rendered.status}`)
      if (isError(rendered)) return { is: 'failed', failure, object }
      return { is: 'rendered', object, isKept, isShareable: rendered.isStorable !== false }
    }
    const written =
      shared && (await commit({ rows: shared.rows, clock, pk: job.name.pk, object }, lease, meta))
    // The store has a newer one, or will have: lookups must find that.
    const isBeaten = written === 'newer' || written === 'lost'
    return { is: 'rendered', object, isKept: !isBeaten, isShareable: true }
  }

  #objectOf(
    { name, terms: asked }: Job,
    rendered: RenderedObject,
    born: Pick<Version, 'generatedAt' | 'generation'>,
  ): StoredObject {
    const { clock, bufferSeconds, shared, maxObjectBytes } = this.#options
    const { body, status, headers = [], terms: own } = rendered
    const isStorable = isStored(rendered) && body.byteLength <= maxObjectBytes
    const terms = !isStorable ? nothingKept : own === undefined ? asked : termsMs(own)
    const version: Version = {
      ...born,
      id: newUuid(clock.random),
      etag: etagOf(body),
      ...{ status, terms },
      headers: isStorable ? storedHeaders(headers) : headers,
      bytes: body.byteLength,
      chunks: shared?.rows.chunksOf(body.byteLength) ?? 0,
      tagHashes: name.tagHashes,
      hasOwnTerms: own !== undefined || !isStorable,
      collectAt: collectAtOf(born.generatedAt, terms.retention, bufferSeconds),
    }
    return { version, body }
  }
}

const busy = (): Error =>
  new WindowpaneError(
    'WINDOWPANE_OBJECT_BUSY',
    'another node is regenerating the object, and has not finished in time',
    {
      remedy: 'Raise waitSeconds above the duration of a render, or allow stale objects.',
    },
  )
