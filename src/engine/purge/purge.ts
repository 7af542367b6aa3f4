/**
 * Purging: data selected by backend, shape, source and time is no longer used from now on. The mark is written first
 * and takes effect at once; the buckets are counted after it, and removed after the response, as housekeeping.
 */
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'
import { bucketMarkOf, isPurged, type Mark, type MarkedShape, type MarkKind } from '../../core/mark.ts'
import { peekInto } from '../../stores/peek.ts'
import type { ShapeRecord, Store } from '../../stores/store.ts'
import type { Marks } from '../marks.ts'
import { bounded, countWhere, type PurgeCount, type Removal, removeOld, Tally } from './tally.ts'

/** An absent member matches everything; an interval is half-open. */
export type Selection = Partial<Pick<Mark, 'backend' | 'shape' | 'source' | 'from' | 'to'>>

/** A backend with the store that it uses, and the marks of all who share that store. */
export interface PurgeTarget {
  readonly backend: string
  readonly store: Store
  readonly marks: Marks
  /** Other nodes use the store too, and read its marks. */
  readonly isShared?: boolean
}

export interface PurgeReport extends PurgeCount {
  /** Whether the mark outlives this process, where the purged data does. */
  readonly isKept: boolean
}

export interface ChangeReport {
  /** One per store of the backends that are selected. */
  readonly marks: number
  /** Whether they outlive this process, where their buckets do. */
  readonly isKept: boolean
}

/** How long the event loop may be held. */
const turnMs = 10
const removalsAtOnce = 16

/** A store, its selected backends, and the earlier purges. */
interface Group {
  readonly store: Store
  readonly backends: ReadonlySet<string>
  readonly earlier: readonly Mark[]
}

export class Purge {
  readonly #clock: Clock
  readonly #targets: () => readonly PurgeTarget[]
  /** One at a time: each looks at every shape. */
  #counting: Promise<unknown> = Promise.resolve()
  #removing: Promise<void> = Promise.resolve()
  #turnBegan = 0
  readonly #yielded = new Set<() => void>()
  #isClosed = false

  /** `targets`: called every time, where they may change. */
  constructor(clock: Clock, targets: readonly PurgeTarget[] | (() => readonly PurgeTarget[])) {
    this.#clock = clock
    this.#targets = typeof targets === 'function' ? targets : () => targets
  }

  get backends(): readonly string[] {
    return this.#targets().map(({ backend }) => backend)
  }

  /** Whether other nodes will take over a purge of this selection, as far as it can be kept. */
  isShared(selection: Selection): boolean {
    return this.#selected(this.#markOf(selection)).every(({ isShared }) => isShared === true)
  }

  /** The result that `run` would have now. */
  async count(selection: Selection): Promise<PurgeCount> {
    const mark = this.#markOf(selection)
    return (await this.#inTurn(mark, this.#groups(mark))).count
  }

  async run(selection: Selection): Promise<PurgeReport> {
    const mark = this.#markOf(selection)
    const groups = this.#groups(mark)
    const kept = await Promise.all([...this.#marksFor(mark)].map((marks) => marks.add(mark)))
    const { count, removals } = await this.#inTurn(mark, groups)
    this.#removing = this.#removing.then(() => this.#remove(removals, mark.at))
    return { ...count, isKept: kept.every(Boolean) }
  }

  /** The selected data has changed in the database: its buckets are fetched again, and serve only while the database does not answer. */
  async markChanged(selection: Selection): Promise<ChangeReport> {
    const mark = this.#markOf(selection, 'stale')
    const kept = await Promise.all([...this.#marksFor(mark)].map((marks) => marks.add(mark)))
    return { marks: kept.length, isKept: kept.every(Boolean) }
  }

  /** Marks in force, those of several stores once. */
  marks(): readonly Mark[] {
    const all = [...new Set(this.#targets().map(({ marks }) => marks))].flatMap((marks) => marks.list())
    return [...new Map(all.map((mark) => [JSON.stringify(mark), mark])).values()]
  }

  /** Resolves when all purged data so far is removed. */
  async idle(): Promise<void> {
    await this.#counting
    await this.#removing
  }

  /** Data that is not removed yet stays: its mark stays too. */
  async close(): Promise<void> {
    this.#isClosed = true
    // A timer does not keep a process alive that is about to end, and its stores are still to be closed.
    for (const goOn of this.#yielded) goOn()
    await this.idle()
  }

  #markOf(selection: Selection, kind: MarkKind = 'purge'): Mark {
    const always = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
    return { kind, ...always, ...selection, at: this.#clock.now() }
  }

  #selected({ backend }: Mark): readonly PurgeTarget[] {
    return this.#targets().filter((target) => backend === undefined || target.backend === backend)
  }

  #marksFor(mark: Mark): ReadonlySet<Marks> {
    return new Set(this.#selected(mark).map(({ marks }) => marks))
  }

  /** Memory is part of several stores: each shape is looked at in the store of its backend. */
  #groups(mark: Mark): Group[] {
    return [...Map.groupBy(this.#selected(mark), ({ store }) => store)].map(([store, targets]) => ({
      store,
      backends: new Set(targets.map(({ backend }) => backend)),
      earlier: targets[0]!.marks.list().filter(({ kind }) => kind === 'purge'),
    }))
  }

  #inTurn(mark: Mark, groups: readonly Group[]): Promise<Tally> {
    const counted = this.#counting.then(() => this.#tally(mark, groups))
    this.#counting = counted.catch(() => {})
    return counted
  }

  async #tally(mark: Mark, groups: readonly Group[]): Promise<Tally> {
    this.#turnBegan = this.#clock.elapsed()
    const tally = new Tally(mark.at)
    for (const group of groups) {
      // Data in a failing store is not counted; the mark holds all the same.
      await this.#tallyGroup(tally, mark, group).catch(() => {})
    }
    return tally
  }

  async #tallyGroup(tally: Tally, mark: Mark, group: Group): Promise<void> {
    for await (const [key, record] of group.store.shapes()) {
      if (this.#isClosed) return
      if (group.backends.has(record.backend)) await this.#look(tally, mark, { group, key, record })
      await this.#yieldTurn()
    }
  }

  async #look(tally: Tally, mark: Mark, { group, key, record }: Listed): Promise<void> {
    const question: MarkedShape = { ...record, key, shape: record.text }
    const touched = bucketMarkOf(mark, question)
    if (touched === undefined) return
    const interval = bounded(touched)
    const panes = (await peekInto(group.store, key, interval))?.panes ?? []
    if (panes.length === 0) return
    const earlier = group.earlier
      .map((other) => bucketMarkOf(other, question))
      .filter((other) => other !== undefined)
    const buckets = countWhere(
      panes,
      (bucket, clock) => clock <= mark.at && !isPurged(bucket, clock, earlier),
    )
    tally.add({ key, text: record.text, backend: record.backend, buckets })
    tally.removals.push({ store: group.store, key, interval })
  }

  async #remove(removals: readonly Removal[], at: EpochMs): Promise<void> {
    this.#turnBegan = this.#clock.elapsed()
    for (let i = 0; i < removals.length && !this.#isClosed; i += removalsAtOnce) {
      // A failing store keeps data that is never used.
      await Promise.allSettled(removals.slice(i, i + removalsAtOnce).map((removal) => removeOld(removal, at)))
      await this.#yieldTurn()
    }
  }

  /** Others have their turn: there may be a hundred thousand shapes. */
  async #yieldTurn(): Promise<void> {
    if (this.#clock.elapsed() - this.#turnBegan < turnMs) return
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        this.#yielded.delete(goOn)
        resolve()
      }
      this.#yielded.add(goOn)
      this.#clock.after(0, goOn)
    })
    this.#turnBegan = this.#clock.elapsed()
  }
}

interface Listed {
  readonly group: Group
  readonly key: Key
  readonly record: ShapeRecord
}
