/**
 * The marks in force. They are held in memory for lookups, and kept as cells where the store has some: a restart does
 * not bring purged buckets back, and processes that share a store see each other's marks.
 *
 * A node that cannot read the marks of its store does not know the purges of other nodes: `isCurrent` is false from
 * then on, and the store's buckets are not used, until the marks have been read again. Marks that are made during an
 * outage take effect in this process at once and are saved when the store is back. A save that the store acknowledged
 * and lost is repeated.
 */
import type { Plan } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Key } from '../core/key.ts'
import { type BucketMark, bucketMarkOf, hasAllOf, type Mark, noMarks } from '../core/mark.ts'
import type { Breaker } from '../stores/breaker.ts'
import type { Cells } from '../stores/cells.ts'
import { maxSkewMs } from '../stores/skew.ts'
import { fitted, withMark } from './mark-folds.ts'
import { MarkRows, maxMarksPerSave } from './mark-rows.ts'

export interface MarksOptions {
  readonly clock: Clock
  /** A mark is dropped this long after its `at`: buckets fetched before it have expired by then. */
  readonly retentionMs: number
  /** The cells for marks; without them marks end with the process, as do the buckets that they concern. */
  readonly cells?: Cells | undefined
  /** Of the store that has the cells: after it was open, marks are not current before they have been read again. */
  readonly breaker?: Pick<Breaker, 'transitions'> | undefined
  /** The most marks in force; 1000 by default. */
  readonly maxMarks?: number
  /** Sends the marks in force to other threads; resolves when they have them. */
  readonly onChange?: ((marks: readonly Mark[]) => Promise<void>) | undefined
}

/** How soon the marks of other processes are heard of. */
const pollMs = 1000
/** How soon they are read again where that failed: until then the store's buckets are not used. */
const retryMs = 250
/** Marks that were not read for this long are not current, also where reading has not failed yet. */
const maxUnreadMs = 5000
/** How long a mark of this node that was seen in the store is looked for again: a replica that took over may not have it. */
const watchedMs = 10 * 60_000

/** The usual time to save a mark: an older one that is seen for the first time was made by a clock that is behind. */
const savingMs = 500

interface ReadMarks {
  /** On the clock's `elapsed`, when reading began. */
  readonly at: number
  /** How often the breaker of the store had opened by then. */
  readonly openings: number
}

export class Marks {
  readonly #options: MarksOptions
  readonly #rows: MarkRows | undefined
  readonly #views = new Map<string, BackendMarks>()
  #marks: readonly Mark[] = []
  #nextLapse = Number.POSITIVE_INFINITY
  #timer = { cancel(): void {} }
  #isClosed = false
  /** Resolves when all threads have the marks in force. */
  #told: Promise<void> | undefined
  /** Marks that this node made, for as long as it must see to it that the store has them. */
  readonly #own = new Set<Mark>()
  #lastRead: ReadMarks | undefined
  #isListening = false

  constructor(options: MarksOptions) {
    this.#options = options
    const { cells, retentionMs } = options
    this.#rows = cells && new MarkRows({ cells, retentionMs })
  }

  /** Reads the stored marks, and follows changes from then on. */
  async load(): Promise<void> {
    if (this.#rows === undefined) return
    this.#isListening = true
    await this.#look(this.#rows)
    this.#listen(this.#rows)
  }

  /** Whether the marks that other nodes have saved are known. Always true where there are no others to listen to. */
  get isCurrent(): boolean {
    if (!this.#isListening) return true
    if (this.#lastRead === undefined || this.#lastRead.openings !== this.#openings) return false
    return this.#options.clock.elapsed() - this.#lastRead.at <= maxUnreadMs
  }

  get #openings(): number {
    return this.#options.breaker?.transitions.open ?? 0
  }

  /**
   * In force before this returns, and in all threads before it resolves. Resolves to false where it could not be saved: it
   * then holds in this process only, until the store is back.
   */
  async add(mark: Mark): Promise<boolean> {
    this.dropLapsed()
    const before = this.#marks
    const folds = this.#adopt([mark])
    if (this.#rows !== undefined) for (const own of [mark, ...folds]) this.#own.add(own)
    const [isKept] = await Promise.all([
      this.#rows?.save([mark, ...folds], this.#gone(before)) ?? true,
      this.#told,
    ])
    return isKept
  }

  /** Puts these marks in force instead of all others: a worker adopts those of the main thread. */
  replaceAll(marks: readonly Mark[]): void {
    this.#marks = marks
    this.#nextLapse = Math.min(...marks.map((mark) => this.#lapseOf(mark)))
    for (const view of this.#views.values()) view.choose(marks)
  }

  list(): readonly Mark[] {
    this.dropLapsed()
    return this.#marks
  }

  /** The marks that concern one backend; one object for as long as this one lives. */
  of(backend: string): BackendMarks {
    let view = this.#views.get(backend)
    if (view === undefined) {
      view = new BackendMarks(backend, () => this.dropLapsed())
      view.choose(this.#marks)
      this.#views.set(backend, view)
    }
    return view
  }

  /** Called on the way of requests: one comparison, until a mark lapses. */
  dropLapsed(): void {
    const now = this.#options.clock.now()
    if (now < this.#nextLapse) return
    const lapsed = this.#marks.filter((mark) => this.#lapseOf(mark) <= now)
    this.replaceAll(this.#marks.filter((mark) => this.#lapseOf(mark) > now))
    void this.#rows?.forget(lapsed)
  }

  close(): void {
    this.#isClosed = true
    this.#timer.cancel()
  }

  #listen(rows: MarkRows): void {
    if (this.#isClosed) return
    const delayMs = this.#lastRead === undefined ? retryMs : pollMs
    this.#timer = this.#options.clock.after(delayMs, () => {
      void this.#look(rows).then(() => this.#listen(rows))
    })
  }

  async #look(rows: MarkRows): Promise<void> {
    const began = { at: this.#options.clock.elapsed(), openings: this.#openings }
    const kept = await rows.look([...this.#own].some((mark) => !rows.hasListed(mark)))
    if (kept === undefined) this.#lastRead = undefined
    else {
      const before = this.#marks
      const made = this.#repeated(kept, began.at)
      // A mark that is no longer stored stays in force here: a missing row proves nothing.
      made.push(...this.#adopt([...kept, ...made]))
      for (const mark of made) this.#own.add(mark)
      await this.#told
      this.#lastRead = began
      const missing = this.#missingIn(rows)
      if (missing.length > 0) await rows.save(missing.slice(0, maxMarksPerSave), this.#gone(before))
    }
    this.dropLapsed()
  }

  /**
   * The clock of the node that made a mark may be behind. Buckets that this node fetched before the mark was made then seem
   * newer than the mark. This node therefore repeats, by its own clock, each mark that it sees for the first time and that is
   * older than the time since the last look explains.
   */
  #repeated(kept: readonly Mark[], lookedAt: number): Mark[] {
    if (this.#lastRead === undefined) return []
    const { clock } = this.#options
    const now = clock.now()
    const explainedMs = lookedAt - this.#lastRead.at + savingMs
    return kept
      .filter((mark) => now - mark.at > explainedMs && !this.#marks.some((known) => hasAllOf(known, mark)))
      .map((mark) => ({ ...mark, at: Math.min(now, mark.at + maxSkewMs) }))
  }

  /** Own marks in force that the store does not have: it was down, or has lost them. */
  #missingIn(rows: MarkRows): readonly Mark[] {
    const inForce = new Set(this.#marks)
    const watchedFrom = this.#options.clock.now() - watchedMs
    const missing: Mark[] = []
    for (const mark of this.#own) {
      const isListed = rows.hasListed(mark)
      if (!inForce.has(mark) || (isListed && mark.at < watchedFrom)) this.#own.delete(mark)
      else if (!isListed) missing.push(mark)
    }
    return missing
  }

  /** Returns the marks that several had to be folded into, for want of room. */
  #adopt(incoming: readonly Mark[]): readonly Mark[] {
    if (incoming.length === 0) return []
    const before = this.#marks
    const { marks, folds } = fitted(incoming.reduce(withMark, before), this.#options.maxMarks ?? 1000)
    this.replaceAll(marks)
    if (marks !== before) this.#told = this.#options.onChange?.(marks)
    return folds
  }

  #gone(before: readonly Mark[]): Mark[] {
    const inForce = new Set(this.#marks)
    return before.filter((mark) => !inForce.has(mark))
  }

  #lapseOf(mark: Mark): EpochMs {
    return mark.at + this.#options.retentionMs
  }
}

const none: readonly Mark[] = []

export class BackendMarks {
  readonly #backend: string
  readonly #dropLapsed: () => void
  #count = 0
  /** Those about everything, or about a question by its text. */
  #general: readonly Mark[] = []
  #bySource: ReadonlyMap<string, readonly Mark[]> = new Map()

  constructor(backend: string, dropLapsed: () => void) {
    this.#backend = backend
    this.#dropLapsed = dropLapsed
  }

  /** The marks on the buckets of a plan. Costs nothing while there are no marks. */
  marksFor(key: Key, plan: Plan): readonly BucketMark[] {
    const marks = this.marksAbout(plan)
    if (marks.length === 0) return noMarks
    const question = { ...plan, key, backend: this.#backend, query: plan.text }
    return marks.map((mark) => bucketMarkOf(mark, question)).filter((mark) => mark !== undefined)
  }

  /** The marks that may concern a plan. Marks of other data sources are skipped: a watcher may write many. */
  marksAbout({ sources, knowsAllSources }: Pick<Plan, 'sources' | 'knowsAllSources'>): readonly Mark[] {
    if (this.#count === 0) return none
    this.#dropLapsed()
    const named = knowsAllSources
      ? sources.flatMap((source) => this.#bySource.get(source) ?? [])
      : [...this.#bySource.values()].flat()
    return named.length === 0 ? this.#general : [...this.#general, ...named]
  }

  /** Selects the marks of its backend. */
  choose(marks: readonly Mark[]): void {
    const own = marks.filter(({ backend }) => backend === undefined || backend === this.#backend)
    const named = own.filter(({ source }) => source !== undefined)
    this.#count = own.length
    this.#general = own.filter(({ source }) => source === undefined)
    this.#bySource = Map.groupBy(named, ({ source }) => source!)
  }
}
