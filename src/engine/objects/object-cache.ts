/**
 * Whole responses with two clocks: a reader decides freshness from the time of generation, and the store's TTL only
 * collects garbage. An object that is not fresh is regenerated once, in this process by a flight that all requests
 * join, and between nodes under a lease (regeneration.ts). Fresh objects of this process are served without a read from
 * the store.
 */
import type { MapBudget } from '../../core/bounded-map.ts'
import { type Clock, type EpochMs, systemClock } from '../../core/clock.ts'
import type { Cells } from '../../stores/cells.ts'
import { guardedCells, StoreGuard } from '../../stores/guard.ts'
import type { MaybePromise } from '../../stores/store.ts'
import { everythingSk, Generations, keySk, tagSk } from './generations.ts'
import { Lookups, newest, type ObjectLookup } from './lookups.ts'
import { type NearObjects, nearObjects, type StoredObject } from './near-objects.ts'
import { nothingKept, termsMs } from './object-clocks.ts'
import { ObjectLeases } from './object-lease.ts'
import { escapedTenant, nameOf, sha256Of } from './object-names.ts'
import { ObjectRows, type Version } from './object-rows.ts'
import { type AskedObject, ObjectView } from './object-view.ts'
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
import { type Job, Regeneration, type RegenerationOutcome } from './regeneration.ts'
import { rollBack } from './rollback.ts'

export interface ObjectCacheOptions {
  readonly clock?: Clock
  /** The memory for objects in this process; 32 MiB by default. */
  readonly maxBytes?: number
  /** The number of objects in this process; 10 000 by default. */
  readonly maxObjects?: number
  /** Memory that others take from too. */
  readonly budget?: MapBudget
  /** Larger bodies are served and not stored; 8 MiB by default. */
  readonly maxObjectBytes?: number
  /** An invalidation by another node is noticed after this at the latest, while the store answers; 5 s by default. */
  readonly noticeSeconds?: number
  /** The lease of a regenerating node expires after this time without renewal; 15 s by default. */
  readonly leaseSeconds?: number
  /** How long a request waits for another node's regeneration; 20 s by default, and more than the lease. */
  readonly waitSeconds?: number
  /** Rows are collected this long after their clocks have passed; an hour by default. */
  readonly bufferSeconds?: number
  /** The timeout of one operation of the store; 2 s by default. 'guarded': the cells have time limits of their own. */
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
  readonly outcome: Promise<RegenerationOutcome>
}

interface Request extends AskedObject {
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
    this.#near = nearObjects({ maxWeight: maxBytes, maxEntries: maxObjects, budget: options.budget })
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

  /** From this process, without I/O. */
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

  async #serve(request: Request, looked: ObjectLookup): Promise<ObjectAnswer> {
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

  /** A flight that began before a known invalidation may bring invalidated content. */
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
      .catch((failure: unknown): RegenerationOutcome => ({ is: 'failed', failure }))
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
    outcome: RegenerationOutcome,
    { isLeader, replaced }: { readonly isLeader: boolean; readonly replaced: EpochMs | undefined },
  ): Promise<ObjectAnswer> {
    const { name, render } = request
    const state = isLeader && outcome.is !== 'found' ? 'miss' : 'wait-hit'
    if (outcome.is === 'failed') return this.#fallBack(request, outcome, state)
    if (isLeader || outcome.is === 'found' || outcome.isShareable)
      return this.#view.answer(request, outcome.object, { state, replaced })
    // A response that may not be stored may not be shared either: every waiter renders for itself.
    const own = { name, render, terms: nothingKept, known: undefined, isFresh: () => false, newsFrom: 0 }
    return this.#settle(request, await this.#regeneration.run(own), { isLeader: true, replaced })
  }

  async #fallBack(
    request: Request,
    { failure, object }: Extract<RegenerationOutcome, { readonly is: 'failed' }>,
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
      const sk = what.tag === undefined ? everythingSk : tagSk(sha256Of(what.tag))
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

/** A store that hangs or fails is not used for a while, and no request waits for it meanwhile. */
const limited = (cells: Cells, clock: Clock, timeoutSeconds: number | 'guarded'): Cells =>
  timeoutSeconds === 'guarded'
    ? cells
    : guardedCells(cells, new StoreGuard({ clock, timeoutMs: timeoutSeconds * 1000 }))
