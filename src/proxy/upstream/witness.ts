/**
 * Polls the segments that a database answers from. Unchanged segments are vouched for; changed ones are marked. One
 * poll at a time. A failed poll proves nothing: when the last good one is older than the patience, settled buckets are
 * under the TTL policy again.
 */
import type {
  SegmentSettings,
  SegmentView,
  SegmentWatch,
  SourceSpans,
  Unreadable,
} from '../../backends/segment-watch.ts'
import type { Clock, EpochMs, Timer } from '../../core/clock.ts'
import { hullOf, type Intervals, nothing } from '../../core/interval.ts'
import type { Mark } from '../../core/mark.ts'
import { type StillSpan, stillAfter, type Vouched } from '../../core/witness.ts'
import { sendDecoded } from '../../engine/decoder.ts'
import type { Upstream, UpstreamCall } from '../../engine/ports.ts'
import type { Witness } from '../../engine/witness.ts'
import type { Observer } from '../../telemetry/telemetry.ts'

export interface SegmentWatcherOptions {
  readonly backend: string
  readonly segments: SegmentWatch
  readonly settings: SegmentSettings
  readonly upstream: Upstream
  readonly clock: Clock
  /** Receives the vouched intervals. */
  readonly witness: Witness
  readonly mark: (mark: Mark) => unknown
  /** Other threads vouch for the same. */
  readonly onVouched?: ((vouched: Vouched) => unknown) | undefined
  readonly log?: Observer['log'] | undefined
}

export interface SegmentFigures {
  /** Whether settled buckets are kept fresh: the last good view is recent enough. */
  readonly isTrusted: boolean
  /** When the last good view was requested. */
  readonly viewAt: EpochMs | undefined
  /** Since then; since the start, where there was none. */
  readonly ageMs: number
  readonly segments: number
  /** Looks that are over, good ones or not. */
  readonly looks: number
  /** Intervals that were marked as changed. */
  readonly marked: number
  /** Why the last look failed; undefined where it did not. */
  readonly trouble: string | undefined
}

const maxBytes = 128 * 1024 * 1024
/** More changes of one data source at once are marked as one: from the first to the last. */
const maxMarks = 20

interface Seen {
  readonly view: SegmentView
  readonly askedAt: EpochMs
}

export class SegmentWatcher {
  readonly #options: SegmentWatcherOptions
  #seen: Seen | undefined
  #still: ReadonlyMap<string, readonly StillSpan[]> = new Map()
  #looks = 0
  #marked = 0
  #trouble: string | undefined
  #timer: Timer | undefined
  #call: UpstreamCall | undefined
  #isClosed = false
  readonly #startedAt: EpochMs

  constructor(options: SegmentWatcherOptions) {
    this.#options = options
    this.#startedAt = options.clock.now()
  }

  /** The first look is at once. */
  start(): void {
    this.#look()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#call?.cancel()
  }

  get figures(): SegmentFigures {
    const { clock, settings } = this.#options
    const ageMs = clock.now() - (this.#seen?.askedAt ?? this.#startedAt)
    return {
      isTrusted: this.#seen !== undefined && ageMs >= 0 && ageMs < settings.patienceMs,
      viewAt: this.#seen?.askedAt,
      ageMs,
      segments: this.#seen?.view.count ?? 0,
      looks: this.#looks,
      marked: this.#marked,
      trouble: this.#trouble,
    }
  }

  #look(): void {
    const { clock, segments, settings, upstream } = this.#options
    const askedAt = clock.now()
    const reader = segments.reader()
    let status = 0
    let bytes = 0
    let isOver = false
    const finish = (result: SegmentView | Unreadable) => {
      if (isOver || this.#isClosed) return
      isOver = true
      patience.cancel()
      this.#looks++
      this.#applyView(askedAt, result)
      this.#timer = clock.after(settings.everyMs, () => this.#look())
    }
    const giveUp = (unreadable: string) => {
      finish({ unreadable })
      this.#call?.cancel()
    }
    // An answer that takes longer is too old to be trusted when it comes.
    const patience = clock.after(settings.patienceMs, () => giveUp('no answer in time'))
    const asked = { request: segments.request, accept: upstream.preferredEncoding }
    this.#call = sendDecoded(upstream, asked, {
      head: (code) => {
        status = code
      },
      data: (chunk) => {
        bytes += chunk.length
        if (bytes > maxBytes) giveUp('the answer is too long')
        else reader.write(chunk)
      },
      end: () => finish(reader.end(status)),
      failed: ({ detail }) => finish({ unreadable: detail }),
    })
  }

  #applyView(askedAt: EpochMs, result: SegmentView | Unreadable): void {
    this.#trouble = 'unreadable' in result ? result.unreadable : undefined
    this.#logState()
    if ('unreadable' in result) return
    const changes = this.#seen === undefined ? [] : this.#options.segments.changes(this.#seen.view, result)
    // Queries sent before the response came may have been answered from the earlier segments.
    const at = this.#options.clock.now()
    for (const change of changes) this.#mark(change, at)
    this.#still = this.#stillIn(result, { askedAt, at, changes })
    this.#seen = { view: result, askedAt }
    this.#vouch(askedAt)
  }

  #mark({ source, spans }: SourceSpans, at: EpochMs): void {
    const { backend, mark } = this.#options
    for (const { from, to } of spans.length > maxMarks ? [hullOf(spans)] : spans) {
      this.#marked++
      mark({ kind: 'stale', backend, source, from, to, at })
    }
  }

  /** After a pause that was longer than the patience, nothing is known of the time before it. */
  #stillIn(view: SegmentView, { askedAt, at, changes }: Polled): ReadonlyMap<string, readonly StillSpan[]> {
    const { segments, settings } = this.#options
    const pauseMs = askedAt - (this.#seen?.askedAt ?? Number.NEGATIVE_INFINITY)
    const isUnbroken = pauseMs >= 0 && pauseMs <= settings.patienceMs
    const changed = new Map<string, Intervals>(changes.map(({ source, spans }) => [source, spans]))
    const uselessBefore = at - settings.maxAgeMs
    const still = new Map<string, readonly StillSpan[]>()
    for (const [source, atRest] of segments.atRest(view)) {
      const before = isUnbroken ? (this.#still.get(source) ?? []) : []
      const sighting = { atRest, changed: changed.get(source) ?? nothing, at, uselessBefore }
      still.set(source, stillAfter(before, sighting))
    }
    return still
  }

  #vouch(verifiedAt: EpochMs): void {
    const { witness, onVouched, settings } = this.#options
    const { patienceMs, maxAgeMs } = settings
    const vouched = { still: this.#still, verifiedAt, patienceMs, maxAgeMs }
    witness.follow(vouched)
    onVouched?.(vouched)
  }

  #logState(): void {
    const { backend, segments, log } = this.#options
    const topic = `segments of ${backend}`
    if (this.#trouble === undefined) {
      log?.change(topic, { is: 'watched', isGood: true })
      return
    }
    const state = { is: 'cannot be seen; settled buckets go back to their TTLs', isGood: false }
    log?.change(topic, state, { detail: this.#trouble, remedy: remedyFor(backend, segments) })
  }
}

interface Polled {
  readonly askedAt: EpochMs
  readonly at: EpochMs
  readonly changes: readonly SourceSpans[]
}

const remedyFor = (backend: string, { permission }: SegmentWatch): string =>
  `Let the account of backends.${backend}.auth ${permission}, or switch backends.${backend}.segments.watch off.`
