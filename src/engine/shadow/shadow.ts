/**
 * Serves a request in shadow mode: lookup, the database's own answer to the client's own request, and, once the client
 * has it, write-back of the buckets that `serve` would have fetched and a comparison with the answer of `serve`. No
 * query is sent twice, and nothing here can delay or break the answer: a slow store is not waited for, a comparison has
 * its turn later.
 */

import type { Plan } from '../../backends/backend.ts'
import { Reservation } from '../../core/budget.ts'
import { bytesOf } from '../../core/bytes.ts'
import { calendarText } from '../../core/calendar.ts'
import { pause } from '../../core/clock.ts'
import { type Grid, startOf } from '../../core/grid.ts'
import { countOf, type Intervals, subtractAll } from '../../core/interval.ts'
import { measure, type Pane } from '../../core/pane.ts'
import { haveSameFrame } from '../../core/pane-join.ts'
import type { Found } from '../../stores/store.ts'
import { Backlog } from '../backlog.ts'
import type { FetchedPanes, FetchResult } from '../fetch.ts'
import { askedBy } from '../gaps.ts'
import { Intake } from '../intake.ts'
import type { StreamTarget } from '../ports.ts'
import { partsOf } from '../stored.ts'
import type { Answer, CacheRequest, IntervalCacheOptions, Trip } from '../trip.ts'
import { termsFor, writeBack } from '../write-back.ts'
import { BodySink } from './body-sink.ts'
import { judge } from './compare.ts'
import { ShadowLedger } from './ledger.ts'
import { ShadowLog, type SkipReason, type WouldBe } from './log.ts'

export type ShadowRequest = CacheRequest & { readonly target: StreamTarget }

/** The part of a lookup that shadow mode needs. */
export interface ShadowLookup {
  readonly found: Found | undefined
  readonly gaps: Intervals
}

/** The database's answer, split, with its share of the memory budget until it has been compared. */
interface Split {
  readonly fetched: FetchedPanes
  /** As the database sent it, free of content encoding; undefined where it was too long to keep. */
  readonly body: Buffer | undefined
  readonly reservation: Reservation
}

/** A would-be answer: which of its buckets would have been stored ones, and which fetched. */
interface Would {
  readonly be: WouldBe
  readonly stored: readonly Pane[]
  readonly panes: readonly Pane[]
  readonly gaps: Intervals
}

/** Longer answers are not compared, and not more than so many at once wait for their turn. */
const maxComparedBytes = 16 * 1024 * 1024
const maxWaiting = 32

export class Shadow {
  readonly #options: IntervalCacheOptions
  readonly #log: Pick<ShadowLog, 'equal' | 'mismatch' | 'skip'>
  readonly #ledger: ShadowLedger
  readonly #backlog: Backlog
  #waiting = 0

  constructor(options: IntervalCacheOptions) {
    const { clock, budget } = options
    this.#options = options
    this.#log = options.shadowLog ?? new ShadowLog({ clock, budget })
    this.#ledger = new ShadowLedger(budget)
    this.#backlog = options.backlog ?? new Backlog(clock)
  }

  /** The database's answer to the unchanged request could not be cut into buckets. */
  passOn(): Answer {
    this.#log.skip(this.#options.name, 'not_verbatim')
    return { kind: 'forward', reason: 'shadow' }
  }

  /** The lookup has begun; it is not waited for. */
  async answer(trip: Trip, target: StreamTarget, lookup: Promise<ShadowLookup | 'failed'>): Promise<Answer> {
    const { decision, plan } = trip
    decision.outcome = 'bypass'
    decision.reason = 'shadow'
    decision.key = trip.key
    const looking = lookup.catch(() => 'failed' as const)
    void looking.then((looked) => {
      if (looked !== 'failed') decision.detail = `would be ${outcomeOf(plan, looked.gaps)}`
    })
    const { intake, body } = this.#send(trip, target)
    const result = await intake.result
    if (result.kind === 'panes') void this.#examine(trip, looking, { fetched: result, body: body() })
    else this.#log.skip(this.#options.name, whyUnsplit(intake, result))
    if (result.kind === 'broken' && !intake.isStreaming) return { kind: 'failure', failure: result }
    await intake.delivered
    return { kind: 'streamed' }
  }

  /** Everything is streamed to the client; the split copy is kept with its body for the comparison. */
  #send(trip: Trip, target: StreamTarget): { intake: Intake; body: () => Buffer | undefined } {
    const { backend, upstream, clock, budget, maxAnswerBytes } = this.#options
    const { plan, request } = trip
    const fetchedAt = clock.now()
    let sink: BodySink | undefined
    const intake = new Intake({
      ...{ fetchedAt, budget, maxAnswerBytes, backlog: this.#backlog, target },
      termsOf: termsFor(trip, backend, fetchedAt),
      isTransparent: true,
      newSink: () => {
        sink = new BodySink(backend.decompose(plan, askedBy(plan)))
        return sink
      },
      land: async () => {},
    })
    intake.sent(upstream.send(plan.request, target.encoding, intake))
    request.client.onGone(() => intake.cancel())
    return { intake, body: () => sink?.body }
  }

  /** Stores and compares an answer that the client has. */
  async #examine(
    trip: Trip,
    looking: Promise<ShadowLookup | 'failed'>,
    answer: Omit<Split, 'reservation'>,
  ): Promise<void> {
    const reservation = new Reservation(this.#options.budget)
    const comparing = this.#storeAndCompare(trip, looking, { ...answer, reservation })
    // The client was answered long ago: a fault in here is none of its business.
    const skipped = await comparing.catch(() => 'internal' as const)
    reservation.free()
    if (skipped !== undefined) this.#log.skip(this.#options.name, skipped)
  }

  /** Resolves to the reason where nothing was compared. */
  async #storeAndCompare(
    trip: Trip,
    looking: Promise<ShadowLookup | 'failed'>,
    split: Split,
  ): Promise<SkipReason | undefined> {
    const { fetched, body, reservation } = split
    const held = fetched.panes.reduce((sum, pane) => sum + measure(pane), body?.length ?? 0)
    if (!reservation.resize(held)) return 'memory'
    const looked = await looking
    if (looked === 'failed') return 'store_failed'
    const would = wouldBe(trip.plan, looked, fetched.panes)
    // `serve` would have refused without a query.
    if (trip.request.demands.onlyIfCached && would.gaps.length > 0) return 'only_if_cached'
    const gap = { ...fetched, panes: partsOf(fetched.panes, would.gaps) }
    if (would.gaps.length > 0) void this.#store(trip, gap)
    if (this.#waiting >= maxWaiting) return 'busy'
    this.#waiting++
    await pause(this.#options.clock, 0)
    this.#waiting--
    const skipped = this.#compare(trip, would, split)
    // An answer that is never stored must not replace a stored one.
    const kept = gap.storable ? partsOf(gap.panes, trip.plan.whole) : []
    for (const pane of kept) this.#ledger.write(trip.key, pane)
    return skipped
  }

  async #store(trip: Trip, gap: FetchedPanes): Promise<void> {
    trip.decision.stored = await writeBack(this.#options, trip, gap).catch(() => false)
  }

  #compare(trip: Trip, would: Would, { fetched, body, reservation }: Split): SkipReason | undefined {
    const { backend } = this.#options
    const direct = backend.recompose(trip.plan, fetched.panes)
    const cached = would.be === 'miss' ? direct : backend.recompose(trip.plan, would.panes)
    // A miss whose body was not kept has nothing to be compared with.
    const isPointless = would.be === 'miss' && body === undefined
    if (isPointless || Math.max(cached.length, direct.length) > maxComparedBytes) return 'too_large'
    if (!reservation.grow(cached.length + direct.length)) return 'memory'
    this.#judge(trip, would, { cached: bytesOf(cached), direct: bytesOf(direct), body, fetched })
    return undefined
  }

  #judge({ plan, key, policy }: Trip, would: Would, { fetched, ...bodies }: Bodies): void {
    const { backend, name } = this.#options
    const { grid, window } = plan
    const { stored } = would
    const rules = { backend, key, grid, settledAgeMs: policy.settledAgeMs, ledger: this.#ledger }
    const judgement = judge({ ...rules, ...bodies, stored, fetched: fetched.panes })
    const { cause, buckets, result, isFaithful } = judgement
    this.#ledger.note(key, stored, judgement.differing)
    if (cause === undefined) this.#log.equal(name, would.be)
    else {
      const shown = isFaithful ? bodies : { cached: bodies.direct, direct: bodies.body }
      this.#log.mismatch(would.be, {
        backend: name,
        text: plan.text,
        window: { from: startOf(grid, window.from), to: startOf(grid, window.to), step: stepOf(grid) },
        ...{ cause, isExplained: result === 'explained', buckets },
        ...{ cached: shown.cached, direct: shown.direct },
      })
    }
  }
}

/** The answer of the cache, the answer recomposed from the database's response alone, and that response itself. */
interface Bodies extends Pick<Split, 'fetched' | 'body'> {
  readonly cached: Buffer
  readonly direct: Buffer
}

const stepOf = ({ step, calendar }: Grid): number | string =>
  calendar === undefined ? step : calendarText(calendar)

/** Why there is nothing to compare: an answer that was not split. */
function whyUnsplit({ status }: Intake, result: Exclude<FetchResult, FetchedPanes>): SkipReason {
  if (result.kind === 'abandoned') return 'client_gone'
  if (result.kind === 'broken' && result.response === undefined) return 'database_failed'
  if (status !== 200) return 'error_answer'
  if (result.kind !== 'unusable') return 'unusable_answer'
  if (result.reason === 'memory_exhausted') return 'memory'
  return result.reason === 'answer_too_large' ? 'too_large' : 'unusable_answer'
}

function outcomeOf(plan: Plan, gaps: Intervals): WouldBe {
  if (gaps.length === 0) return 'hit'
  return countOf(gaps) === countOf(askedBy(plan)) ? 'miss' : 'partial'
}

/** Stored panes in another form than the database's answer count as absent, as they would for `serve`. */
function wouldBe(plan: Plan, { found, gaps }: ShadowLookup, fetched: readonly Pane[]): Would {
  const panes = found?.panes ?? []
  if (!panes.every((pane) => haveSameFrame(pane, fetched[0]!))) {
    return { be: 'miss', stored: [], panes: fetched, gaps: askedBy(plan) }
  }
  const stored = partsOf(panes, subtractAll(plan.whole, gaps))
  const all = [...stored, ...partsOf(fetched, gaps)].sort((a, b) => a.from - b.from)
  return { be: outcomeOf(plan, gaps), stored, panes: all, gaps }
}
