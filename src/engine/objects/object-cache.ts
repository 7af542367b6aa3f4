/**
 * Whole responses with two clocks: a reader decides freshness from when an object was generated, and the store's TTL only
 * collects garbage. An object that is not fresh is regenerated once, in this process by a flight that everybody joins, and
 * between nodes under a lease (regeneration.ts). Fresh objects of this process are served without asking the store.
 */
import { type Clock, type EpochMs, systemClock } from '../../core/clock.ts'
import type { Cells } from '../../stores/cells.ts'
import { guardedCells, StoreGuard } from '../../stores/guard.ts'
import type { MaybePromise } from '../../stores/store.ts'
import { everythingSk, Generations, keySk, tagSk } from './generations.ts'
import { type Looked, Lookups, newest } from './lookups.ts'
import { NearObjects, type ObjectBudget, type StoredObject } from './near-objects.ts'
import { nothingKept, termsMs } from './object-clocks.ts'
import { ObjectLeases } from './object-lease.ts'
import { escapedTenant, hashOf, nameOf } from './object-names.ts'
import { ObjectRows, type Version } from './object-rows.ts'
import { type Asked, ObjectView } from './object-view.ts'
import type {
  Invalidated,
  ObjectAnswer,
  ObjectCache,
  ObjectDemands,
  ObjectKey,
  ObjectState,
  ObjectTerms,
  Regenerated,
  Render,
} from './objects.ts'
import { type Job, type Outcome, Regeneration } from './regeneration.ts'
import { rollBack } from './rollback.ts'

export interface ObjectCacheOptions {
  readonly clock?: Clock
  /** What this process holds; 32 MiB unless told. */
  readonly maxBytes?: number
  /** How many objects this process holds; 10 000 unless told. */
  readonly maxObjects?: number
  /** Memory that others take from too. */
  readonly budget?: ObjectBudget
  /** Larger bodies are handed out and not stored; 8 MiB unless told. */
  readonly maxObjectBytes?: number
  /** An invalidation by another node is noticed after this at the latest, while the store answers; 5 s unless told. */
  readonly noticeSeconds?: number
  /** A node that regenerates and is not heard of for this long is replaced; 15 s unless told. */
  readonly leaseSeconds?: number
  /** How long a request waits for another node's regeneration; 20 s unless told, and more than the lease. */
  readonly waitSeconds?: number
  /** Rows are collected this long after their clocks have passed; an hour unless told. */
  readonly bufferSeconds?: number
  /** What one operation of the store may take; 2 s unless told. 'guarded': the cells have time limits of their own. */
  readonly timeoutSeconds?: number | 'guarded'
}

/** `store`: its cells are shared with other nodes. Without cells every object is in this process only. */
export function objectCache(
  store: Cells | { readonly cells?: Cells | undefined },
  options: ObjectCacheOptions = {},
): ObjectCache {
  return new Objects('publish' in store ? store : store.cells, options)
}

interface Flight {
  /** The newest invalidation that was known when it began. */
  readonly generation: EpochMs
  readonly startedAt: EpochMs
  readonly outcome: Promise<Outcome>
}

interface Request extends Asked {
  readonly render: Render
}

class Objects implements ObjectCache {
  readonly #clock: Clock
  readonly #near: NearObjects
  readonly #rows: ObjectRows | undefined
  readonly #generations: Generations
  readonly #regeneration: Regeneration
  readonly #view: ObjectView
  readonly #lookups: Lookups
  readonly #flights = new Map<string, Flight>()

  constructor(given: Cells | undefined, options: ObjectCacheOptions) {
    const {
      clock = systemClock,
      maxBytes = 32 << 20,
      maxObjects = 10_000,
      maxObjectBytes = 8 << 20,
    } = options
    const { noticeSeconds = 5, leaseSeconds = 15, bufferSeconds = 3600, timeoutSeconds = 2 } = options
    const { waitSeconds = leaseSeconds + 5 } = options
    const cells = given && limited(given, clock, timeoutSeconds)
    this.#clock = clock
    this.#near = new NearObjects({ maxBytes, maxObjects, budget: options.budget })
    this.#rows = cells && new ObjectRows(cells)
    this.#generations = new Generations({ cells, clock, noticeMs: noticeSeconds * 1000 })
    this.#view = new ObjectView(clock, this.#generations)
    this.#lookups = new Lookups({ clock, rows: this.#rows, near: this.#near, generations: this.#generations })
    const leases = cells && new ObjectLeases({ cells, clock, leaseMs: leaseSeconds * 1000, bufferSeconds })
    this.#regeneration = new Regeneration({
      ...{ clock, generations: this.#generations, bufferSeconds, maxObjectBytes, waitMs: waitSeconds * 1000 },
      shared: this.#rows && leases && { rows: this.#rows, leases },
    })
  }

  get(
    key: string | ObjectKey,
    render: Render,
    terms: ObjectTerms,
    demands?: ObjectDemands,
  ): MaybePromise<ObjectAnswer> {
    const request = { name: nameOf(key), render, terms: termsMs(terms), demands }
    return this.#atOnce(request) ?? this.#lookThenServe(request)
  }

  /** From this process, without asking anybody. */
  #atOnce(request: Request): ObjectAnswer | undefined {
    const { name } = request
    const held = this.#near.use(name.pk)
    if (held === undefined) return undefined
    const position = this.#view.positionOf(request, held.version)
    if (position === 'stale' && this.#flights.has(name.pk))
      return this.#view.answer(request, held, { state: 'stale' })
    const due = this.#generations.dueFor(name.tenant)
    if (position !== 'fresh' || due === 'overdue') return undefined
    if (due === 'soon') void this.#generations.look(name.tenant)
    return this.#view.answer(request, held, { state: 'hit' })
  }

  async #lookThenServe(request: Request): Promise<ObjectAnswer> {
    const { name } = request
    const held = this.#near.use(name.pk)
    if (held !== undefined && this.#view.positionOf(request, held.version) === 'fresh') {
      await this.#generations.look(name.tenant)
      if (this.#view.positionOf(request, held.version) === 'fresh')
        return this.#view.answer(request, held, { state: 'hit' })
    }
    const flight = this.#flights.get(name.pk)
    return flight === undefined
      ? this.#serve(request, await this.#lookups.lookUp(name))
      : this.#join(request, flight)
  }

  async #serve(request: Request, looked: Looked): Promise<ObjectAnswer> {
    const { name } = request
    const stored = newest(looked.object, this.#near.use(name.pk))
    const position = stored === undefined ? 'unusable' : this.#view.positionOf(request, stored.version)
    if (stored !== undefined && position === 'fresh')
      return this.#view.answer(request, stored, { state: 'hit' })
    const flying = this.#flights.get(name.pk)
    const isAtOnce = position === 'stale' || (position === 'error' && looked.failure !== undefined)
    if (stored !== undefined && isAtOnce) {
      if (flying === undefined) this.#start(request, looked.known, stored)
      return this.#view.answer(request, stored, { state: 'stale', failure: looked.failure })
    }
    if (flying !== undefined) return this.#join(request, flying)
    const outcome = await this.#start(request, looked.known, stored).outcome
    return this.#settle(request, outcome, { isLeader: true, replaced: stored?.version.generatedAt })
  }

  /** A flight that began before an invalidation that is known by now may bring what was invalidated. */
  async #join(request: Request, flight: Flight): Promise<ObjectAnswer> {
    const { name, demands } = request
    const replaced = this.#near.use(name.pk)?.version.generatedAt
    const isTooOld =
      flight.generation < this.#generations.newest(name.tenant) ||
      flight.startedAt < (demands?.freshFrom ?? 0)
    const outcome = await flight.outcome
    if (isTooOld) return this.#lookThenServe(request)
    return this.#settle(request, outcome, { isLeader: false, replaced })
  }

  #start(request: Request, known: string | undefined, before: StoredObject | undefined): Flight {
    const { name, render, terms, demands } = request
    const startedAt = this.#clock.now()
    const isFresh = (version: Version) => this.#view.positionOf(request, version) === 'fresh'
    const job: Job = { name, render, terms, known, isFresh, newsFrom: demands?.freshFrom ?? 0 }
    const outcome = this.#regeneration
      .run(job)
      .catch((failure: unknown): Outcome => ({ is: 'failed', failure }))
      .then((ended) => {
        this.#flights.delete(name.pk)
        if (ended.is === 'found' || (ended.is === 'rendered' && ended.isKept))
          this.#near.set(name.pk, ended.object)
        if (ended.is === 'rendered' && ended.isKept && before !== undefined)
          demands?.onRegenerated?.(changeBetween(before.version, ended.object.version))
        return ended
      })
    const flight = { generation: this.#generations.newest(name.tenant), startedAt, outcome }
    this.#flights.set(name.pk, flight)
    return flight
  }

  async #settle(
    request: Request,
    outcome: Outcome,
    { isLeader, replaced }: { readonly isLeader: boolean; readonly replaced: EpochMs | undefined },
  ): Promise<ObjectAnswer> {
    const { name, render } = request
    const state = isLeader && outcome.is !== 'found' ? 'miss' : 'wait-hit'
    if (outcome.is === 'failed') return this.#fallBack(request, outcome, state)
    if (isLeader || outcome.is === 'found' || outcome.isShareable)
      return this.#view.answer(request, outcome.object, { state, replaced })
    // What may not be stored may not be given to others either: everybody who waited renders for themselves.
    const own = { name, render, terms: nothingKept, known: undefined, isFresh: () => false, newsFrom: 0 }
    return this.#settle(request, await this.#regeneration.run(own), { isLeader: true, replaced })
  }

  async #fallBack(
    request: Request,
    { failure, object }: Extract<Outcome, { readonly is: 'failed' }>,
    state: ObjectState,
  ): Promise<ObjectAnswer> {
    const { name } = request
    const stored = this.#near.use(name.pk) ?? (await this.#lookups.lookUp(name)).object
    const position = stored === undefined ? 'unusable' : this.#view.positionOf(request, stored.version)
    if (stored !== undefined && position === 'fresh')
      return this.#view.answer(request, stored, { state: 'wait-hit' })
    if (stored !== undefined && position !== 'unusable')
      return this.#view.answer(request, stored, { state: 'stale', failure })
    if (object !== undefined) return this.#view.answer(request, object, { state })
    throw failure
  }

  async peek(key: string | ObjectKey, demands?: ObjectDemands): Promise<ObjectAnswer | undefined> {
    const name = nameOf(key)
    const { object } = await this.#lookups.lookUp(name)
    if (object === undefined) return undefined
    const { terms } = object.version
    const asked = { name, terms, demands }
    const position = this.#view.positionOf(asked, object.version)
    if (position === 'unusable') return undefined
    return this.#view.answer(asked, object, { state: position === 'fresh' ? 'hit' : 'stale' })
  }

  async invalidate(what: Invalidated): Promise<void> {
    if (typeof what === 'string' || 'key' in what) {
      const { tenant, keyHash } = nameOf(what)
      await this.#generations.invalidate(tenant, keySk(keyHash))
    } else {
      const sk = what.tag === undefined ? everythingSk : tagSk(hashOf(what.tag))
      await this.#generations.invalidate(escapedTenant(what.tenant), sk)
    }
  }

  async rollback(key: string | ObjectKey): Promise<boolean> {
    if (this.#rows === undefined) return false
    const name = nameOf(key)
    const restored = await rollBack(name, {
      rows: this.#rows,
      generations: this.#generations,
      clock: this.#clock,
    })
    if (restored === undefined) return false
    this.#near.set(name.pk, restored)
    return true
  }
}

const changeBetween = (before: Version, after: Version): Regenerated => ({
  gapMs: after.generatedAt - before.generatedAt,
  isChanged: after.etag !== before.etag,
})

/** A store that hangs or fails is left alone for a while, and nobody waits for it meanwhile. */
const limited = (cells: Cells, clock: Clock, timeoutSeconds: number | 'guarded'): Cells =>
  timeoutSeconds === 'guarded'
    ? cells
    : guardedCells(cells, new StoreGuard({ clock, timeoutMs: timeoutSeconds * 1000 }))
