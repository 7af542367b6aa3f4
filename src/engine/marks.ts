/**
 * The marks in force. They are held in memory, where a lookup asks for them, and kept as cells where the store has
 * some: a restart does not bring purged buckets back, and processes that share a store hear of each other's marks.
 */
import type { Plan } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Key } from '../core/key.ts'
import { type BucketMark, bucketMarkOf, covers, folded, type Mark, noMarks } from '../core/mark.ts'
import type { Cells } from '../stores/cells.ts'
import { MarkRows } from './mark-rows.ts'

export interface MarksOptions {
  readonly clock: Clock
  /** A mark is dropped this long after its `at`: what was fetched before is of no use to anybody by then. */
  readonly retentionMs: number
  /** Where marks are kept; without it they end with the process, as what they are about does. */
  readonly cells?: Cells | undefined
  /** The most marks in force; 1000 unless told. */
  readonly maxMarks?: number
  /** Tells other threads what is in force now; resolves when they know. */
  readonly onChange?: ((marks: readonly Mark[]) => Promise<void>) | undefined
}

/** How soon the marks of other processes are heard of. */
const pollMs = 1000

export class Marks {
  readonly #options: MarksOptions
  readonly #rows: MarkRows | undefined
  readonly #views = new Map<string, BackendMarks>()
  #marks: readonly Mark[] = []
  #nextLapse = Number.POSITIVE_INFINITY
  #timer = { cancel(): void {} }
  #isClosed = false
  /** What is in force is known to all threads. */
  #told: Promise<void> | undefined

  constructor(options: MarksOptions) {
    this.#options = options
    const { cells, clock, retentionMs } = options
    this.#rows = cells && new MarkRows({ cells, clock, retentionMs })
  }

  /** Reads what is kept, and listens for more from then on. */
  async load(): Promise<void> {
    if (this.#rows === undefined) return
    await this.#look(this.#rows)
    this.#listen(this.#rows)
  }

  /**
   * In force before this returns, and in all threads before it resolves. Resolves to false where it could not be kept: it
   * then holds in this process only, for as long as that runs.
   */
  async add(mark: Mark): Promise<boolean> {
    this.dropLapsed()
    const before = this.#marks
    const folds = this.#adopt([mark])
    const [isKept] = await Promise.all([
      this.#rows?.save([mark, ...folds], this.#gone(before)) ?? true,
      this.#told,
    ])
    return isKept
  }

  /** Takes over what is in force in the thread that keeps the marks. */
  follow(marks: readonly Mark[]): void {
    this.#set(marks)
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
    this.#set(this.#marks.filter((mark) => this.#lapseOf(mark) > now))
    void this.#rows?.forget(lapsed)
  }

  close(): void {
    this.#isClosed = true
    this.#timer.cancel()
  }

  #listen(rows: MarkRows): void {
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(pollMs, () => {
      void this.#look(rows).then(() => this.#listen(rows))
    })
  }

  async #look(rows: MarkRows): Promise<void> {
    const kept = await rows.news()
    const before = this.#marks
    // What is no longer kept stays in force here: a row that is gone proves nothing.
    const folds = this.#adopt(kept)
    if (folds.length > 0) await rows.save(folds, this.#gone(before))
    this.dropLapsed()
  }

  /** Returns what several marks had to be folded into, for want of room. */
  #adopt(incoming: readonly Mark[]): readonly Mark[] {
    if (incoming.length === 0) return []
    const before = this.#marks
    let marks = incoming.reduce(withMark, before)
    const folds: Mark[] = []
    const { maxMarks = 1000 } = this.#options
    for (let many = toFold(marks); marks.length > maxMarks && many !== undefined; many = toFold(marks)) {
      const fold = folded(many)
      folds.push(fold)
      marks = withMark(marks, fold)
    }
    this.#set(marks)
    if (marks !== before) this.#told = this.#options.onChange?.(marks)
    return folds
  }

  #gone(before: readonly Mark[]): Mark[] {
    const inForce = new Set(this.#marks)
    return before.filter((mark) => !inForce.has(mark))
  }

  #set(marks: readonly Mark[]): void {
    this.#marks = marks
    this.#nextLapse = Math.min(...marks.map((mark) => this.#lapseOf(mark)))
    for (const view of this.#views.values()) view.choose(marks)
  }

  #lapseOf(mark: Mark): EpochMs {
    return mark.at + this.#options.retentionMs
  }
}

/** What a mark covers is said by it: a purge that is repeated every minute is one mark. */
function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  if (marks.some((other) => covers(other, mark))) return marks
  return [...marks.filter((other) => !covers(mark, other)), mark]
}

/** Of one data source, where one has several: the others are not touched then. */
const toFold = (marks: readonly Mark[]): readonly [Mark, Mark, ...Mark[]] | undefined =>
  olderHalf(marks, ({ backend = '', source }) => source && `${backend} ${source}`) ??
  olderHalf(marks, ({ backend = '' }) => backend)

/** The older half of the marks of the group that has most; undefined where no two are of one group. */
function olderHalf(
  marks: readonly Mark[],
  groupOf: (mark: Mark) => string | undefined,
): readonly [Mark, Mark, ...Mark[]] | undefined {
  const grouped = Map.groupBy(marks, groupOf)
  grouped.delete(undefined)
  const groups = [...grouped.values()]
  const largest = groups.reduce((a, b) => (b.length > a.length ? b : a), [])
  const [first, second, ...more] = largest.toSorted((a, b) => a.at - b.at)
  if (first === undefined || second === undefined) return undefined
  return [first, second, ...more.slice(0, Math.ceil(more.length / 2))]
}

/** What is said about the buckets of a plan. */
export const marksOver = (
  { marks }: { readonly marks?: Pick<BackendMarks, 'marksFor'> },
  key: Key,
  plan: Plan,
): readonly BucketMark[] => (marks === undefined ? noMarks : marks.marksFor(key, plan))

/** The marks of one backend, as a lookup asks for them. */
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

  /** What is said about the buckets of a question. Costs nothing while there are no marks. */
  marksFor(key: Key, plan: Plan): readonly BucketMark[] {
    if (this.#count === 0) return noMarks
    this.#dropLapsed()
    const marks = this.#about(plan)
    if (marks.length === 0) return noMarks
    const question = { ...plan, key, backend: this.#backend, query: plan.text }
    return marks.map((mark) => bucketMarkOf(mark, question)).filter((mark) => mark !== undefined)
  }

  /** Those of other data sources need not be looked at: a watcher may write many. */
  #about({ sources, knowsAllSources }: Plan): readonly Mark[] {
    const named = knowsAllSources
      ? sources.flatMap((source) => this.#bySource.get(source) ?? [])
      : [...this.#bySource.values()].flat()
    return named.length === 0 ? this.#general : [...this.#general, ...named]
  }

  /** Takes those that concern its backend. */
  choose(marks: readonly Mark[]): void {
    const own = marks.filter(({ backend }) => backend === undefined || backend === this.#backend)
    const named = own.filter(({ source }) => source !== undefined)
    this.#count = own.length
    this.#general = own.filter(({ source }) => source === undefined)
    this.#bySource = Map.groupBy(named, ({ source }) => source!)
  }
}
