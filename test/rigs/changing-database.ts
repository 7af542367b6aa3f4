/**
 * A database for the cell backend whose buckets change according to a model, on a fake clock. A value is the number of
 * the bucket's version, so the engine sees every change, and the time of the last change shows whether a copy is out of
 * date. The same seed gives the same changes, whatever the queries. Memory is bounded: buckets behind the horizon are
 * dropped.
 */
import type { WireRequest } from '../../src/backends/backend.ts'
import type { Clock, EpochMs } from '../../src/core/clock.ts'
import type { ResponseHandler, Upstream, UpstreamCall } from '../../src/engine/ports.ts'
import { readSpans } from '../../src/testing/cell-ranges.ts'
import { mixSeeds, type Random, seededRandom } from '../../src/testing/random.ts'
import type { ChangeModel } from './change-models.ts'
import { replyAfter } from './fake-reply.ts'

export interface ChangingDatabaseOptions {
  readonly clock: Clock
  readonly modelOf: (source: string) => ChangeModel
  readonly seed: number
  /** Buckets change up to this age. */
  readonly horizonMs: number
  /** How long a query takes. It reads the data at its beginning. */
  readonly latencyMs?: number
}

export const bucketMs = 60_000

interface BucketsOptions {
  readonly model: ChangeModel
  readonly seed: number
  readonly horizonMs: number
  readonly startMs: EpochMs
}

/** The changes of one panel: each panel has data of its own. */
class ChangingBuckets {
  readonly #options: BucketsOptions
  /** Where the seconds of the model begin. */
  readonly #originMs: EpochMs
  /** Rings over buckets: a bucket is forgotten when another one takes its place. */
  readonly #size: number
  readonly #lastChange: Float64Array
  readonly #versions: Float64Array
  /** Changes of the minutes to come; those of a minute are sorted when it begins. */
  readonly #minutes = new Map<number, Change[]>()
  #due: Change[] = []
  #next = 0
  #minute: number
  #nextBucket: number
  #nextPeriod = 0

  constructor(options: BucketsOptions) {
    const { model, seed, horizonMs, startMs } = options
    this.#options = options
    this.#originMs = startMs - (model.isPeriodic ? 86_400_000 * seededRandom(mixSeeds(seed, 2))() : 0)
    this.#size = Math.ceil(horizonMs / bucketMs) + 3
    this.#lastChange = new Float64Array(this.#size).fill(Number.NEGATIVE_INFINITY)
    this.#versions = new Float64Array(this.#size)
    this.#minute = Math.floor(startMs / bucketMs) - 1
    this.#nextBucket = this.#minute + 1 - Math.ceil(horizonMs / bucketMs)
  }

  /** Instants of the last changes, up to `now`, by bucket number modulo the length. */
  lastChanges(now: EpochMs): Float64Array {
    this.#advance(now)
    return this.#lastChange
  }

  version(bucket: number): number {
    return this.#versions[bucket % this.#size]!
  }

  /** Changes at `now` have happened. */
  #advance(now: EpochMs): void {
    const minute = Math.floor(now / bucketMs)
    while (this.#minute < minute) {
      this.#apply(Number.POSITIVE_INFINITY)
      this.#begin(this.#minute + 1)
    }
    this.#apply(now)
  }

  #apply(until: EpochMs): void {
    for (; this.#next < this.#due.length; this.#next++) {
      const { at, bucket } = this.#due[this.#next]!
      if (at > until) return
      if (bucket <= this.#minute - this.#size) continue
      const place = bucket % this.#size
      this.#lastChange[place] = at
      this.#versions[place]!++
    }
  }

  #begin(minute: number): void {
    this.#minute = minute
    // Also the buckets that are in the window when the simulation begins.
    for (; this.#nextBucket <= minute; this.#nextBucket++) this.#open(this.#nextBucket)
    this.#rewriteUntil((minute + 1) * bucketMs)
    this.#due = (this.#minutes.get(minute) ?? []).sort((a, b) => a.at - b.at)
    this.#next = 0
    this.#minutes.delete(minute)
  }

  /** Draws all changes of a bucket by thinning: candidates at the highest rate of a stretch, of which a share is taken. */
  #open(bucket: number): void {
    const place = bucket % this.#size
    this.#lastChange[place] = Number.NEGATIVE_INFINITY
    this.#versions[place] = 0
    const { model, seed, horizonMs, startMs } = this.#options
    const random = seededRandom(mixSeeds(seed, bucket))
    const { own, pace } = model
    const endMs = (bucket + 1) * bucketMs
    const lastS = horizonMs / 1000
    let fromS = Math.max(-bucketMs, startMs - endMs) / 1000
    while (fromS < lastS) {
      const toS = Math.min(lastS, fromS < 0 ? 0 : fromS + Math.max(10, fromS / 8))
      const highest = own(Math.max(0, fromS)) * (pace?.most ?? 1)
      for (let atS = fromS + waiting(random, highest); atS < toS; atS += waiting(random, highest)) {
        const at = Math.ceil(endMs + 1000 * atS)
        const rate = own(Math.max(0, atS)) * (pace?.at((at - this.#originMs) / 1000, atS) ?? 1)
        if (random() * highest < rate) this.#add({ at, bucket })
      }
      fromS = toS
    }
  }

  #rewriteUntil(until: EpochMs): void {
    const { model, seed, startMs } = this.#options
    const { rewrites } = model
    if (rewrites === undefined) return
    for (; this.#originMs + 1000 * this.#nextPeriod * rewrites.everyS < until; this.#nextPeriod++) {
      const random = seededRandom(mixSeeds(seed, this.#nextPeriod, 1))
      const rewrite = rewrites.draw(this.#nextPeriod * rewrites.everyS, random)
      const at = Math.ceil(this.#originMs + 1000 * rewrite.atS)
      // The first version that is read already contains rewrites from before the simulation.
      if (at < startMs) continue
      const first = Math.ceil((at - 1000 * rewrite.toAgeS) / bucketMs) - 1
      const last = Math.floor((at - 1000 * rewrite.fromAgeS) / bucketMs) - 1
      for (let bucket = first; bucket <= last; bucket++) {
        if (random() < rewrite.share) this.#add({ at, bucket })
      }
    }
  }

  #add(change: Change): void {
    const minute = Math.floor(change.at / bucketMs)
    const others = this.#minutes.get(minute)
    if (others === undefined) this.#minutes.set(minute, [change])
    else others.push(change)
  }
}

interface Change {
  readonly at: EpochMs
  readonly bucket: number
}

const waiting = (random: Random, rate: number): number => -Math.log(1 - random()) / rate

export class ChangingDatabase implements Upstream {
  readonly preferredEncoding = 'identity'
  queries = 0
  buckets = 0
  readonly #options: ChangingDatabaseOptions
  readonly #startMs: EpochMs
  readonly #panels = new Map<string, ChangingBuckets>()

  constructor(options: ChangingDatabaseOptions) {
    this.#options = options
    this.#startMs = options.clock.now()
  }

  send({ search }: WireRequest, _accept: string, handler: ResponseHandler): UpstreamCall {
    const { clock, latencyMs = 0 } = this.#options
    const parameters = new URLSearchParams(search)
    const ranges = parameters.get('ranges') ?? `${parameters.get('from')}-${parameters.get('to')}`
    this.queries++
    const body = this.#answer(parameters, ranges)
    return replyAfter({ clock, lagMs: latencyMs }, handler, () => ({ status: 200, body }))
  }

  /** The true state of a panel's buckets at this moment. */
  truthOf(source: string, panel: string): Truth {
    const buckets = this.#bucketsOf(source, panel)
    const lastChanges = buckets.lastChanges(this.#options.clock.now())
    return { lastChanges, versionOf: (bucket) => buckets.version(bucket) }
  }

  #answer(parameters: URLSearchParams, ranges: string): string {
    const { versionOf } = this.truthOf(parameters.get('q')!, parameters.get('panel')!)
    let rows = ''
    for (const { from, to } of readSpans(ranges)!) {
      for (let start = from; start < to; start += bucketMs) {
        rows += `${rows === '' ? '' : ','}[${start},${versionOf(start / bucketMs)}]`
        this.buckets++
      }
    }
    return `{"rows":[${rows}]}`
  }

  #bucketsOf(source: string, panel: string): ChangingBuckets {
    let buckets = this.#panels.get(panel)
    if (buckets === undefined) {
      const { modelOf, seed, horizonMs } = this.#options
      buckets = new ChangingBuckets({
        model: modelOf(source),
        seed: mixSeeds(seed, ...Buffer.from(panel)),
        horizonMs,
        startMs: this.#startMs,
      })
      this.#panels.set(panel, buckets)
    }
    return buckets
  }
}

export interface Truth {
  /** Instants of the last changes, by bucket number modulo the length. */
  readonly lastChanges: Float64Array
  versionOf(bucket: number): number
}
