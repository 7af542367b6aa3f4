/**
 * Evidence of this node in step with the store: every few minutes the node reads the evidence of others, adopts the
 * evidence of dead nodes, and saves its own. So learned rates survive a restart, and all nodes that share a store learn
 * from each other.
 *
 * Every observation counts once. Until a row of a dead node has been adopted it counts as that of another node, and
 * only the node that has removed it adopts it. A node that could not reach the store for longer than its lease drops
 * the evidence that others have adopted meanwhile. Where the store fails, everything stays in memory and the next round
 * tries again.
 */
import type { EpochMs, Timer } from '../../core/clock.ts'
import { inTime } from '../../core/deadline.ts'
import { newUuid } from '../../core/uuid.ts'
import { inParallel } from '../../stores/rows/in-parallel.ts'
import type { EvidenceRow, Learner } from '../../ttl/learned/learner.ts'
import {
  EvidenceRows,
  type EvidenceRowsOptions,
  type ListedEvidence,
  type StoredEvidence,
} from './evidence-rows.ts'

export interface SharedEvidenceOptions extends Omit<EvidenceRowsOptions, 'node'> {
  readonly learner: EvidenceHolder
}

export type EvidenceHolder = Pick<Learner, 'own' | 'setForeign' | 'adopt' | 'disown'>

/** Rows of this backend in the store, as far as they are known. */
export interface EvidenceFigures {
  readonly own: number
  readonly foreign: number
}

export const evidenceRoundMs = 5 * 60_000
/** Every node reads the rows of all: about thirty rows per second at most. */
const roundMsPerRow = 30
/** Three rounds may fail, or be late, before a node counts as gone. */
const roundsPerLease = 4
/** A row of a node that has no lease is left alone for as long as a lease takes: the lease may have been lost. */
const unleasedMs = roundsPerLease * evidenceRoundMs
/** An engine may notice a moment late that another process has opened the store: rows of the last minute are left alone. */
const aloneMs = 60_000
/** How many rows of one backend are saved: those with the most evidence. */
const maxSaved = { shape: 128, source: 64, backend: 1, staleness: 1 } as const satisfies Record<
  EvidenceRow['level'],
  number
>
/**
 * Readers let sums decay by themselves: a write is for new observations, or for evidence that an alarm has made the
 * learner forget.
 */
const worthwhile = { rise: 1.02, fall: 0.8 } as const
/** Where observations only make up for the decay, rows are written after this long. */
const refreshMs = 30 * 60_000
const closeMs = 2000

export class SharedEvidence {
  readonly #options: SharedEvidenceOptions
  readonly #rows: EvidenceRows
  /** Rows of this node, as they were last seen in the store. */
  readonly #saved = new Map<string, StoredEvidence>()
  #foreign: readonly StoredEvidence[] = []
  #leaseUntil: EpochMs = Number.NEGATIVE_INFINITY
  #round: Promise<void> = Promise.resolve()
  #timer: Timer | undefined
  #isClosed = false

  constructor(options: SharedEvidenceOptions) {
    const { cells, clock, backend } = options
    this.#options = options
    this.#rows = new EvidenceRows({ cells, clock, backend, node: newUuid(clock.random) })
  }

  get figures(): EvidenceFigures {
    return { own: this.#saved.size, foreign: this.#foreign.length }
  }

  /** Resolves when evidence in the store has been taken in, or could not be read. Rounds follow until it is closed. */
  async load(): Promise<void> {
    const reading = this.#read()
    this.#round = reading
      .then((listed) => this.#finish(listed))
      // The store fails: this node keeps its evidence, and the next round may succeed.
      .catch(() => {})
      .then(() => this.#scheduleRound())
    await reading.catch(() => {})
  }

  /** Saves the evidence since the last round, and leaves the rows to others, or to this node after a restart. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    const leave = async () => {
      if (this.#isLapsed) await this.#read()
      await this.#save()
      if (this.#saved.size > 0) await this.#rows.lease(this.#options.clock.now())
    }
    // A store that does not answer must not hold up the end of the process.
    await inTime(this.#round.then(leave), this.#options.clock, closeMs).catch(() => {})
  }

  #scheduleRound(): void {
    if (this.#isClosed) return
    const { clock } = this.#options
    const jitter = 0.9 + 0.2 * clock.random()
    this.#timer = clock.after(jitter * this.#roundMs, () => void this.load())
  }

  get #roundMs(): number {
    return Math.max(evidenceRoundMs, roundMsPerRow * (this.#saved.size + this.#foreign.length))
  }

  /** Others may have adopted rows of this node: the store is read before anything is written. */
  get #isLapsed(): boolean {
    return this.#leaseUntil <= this.#options.clock.now()
  }

  async #read(): Promise<ListedEvidence> {
    const wasLapsed = this.#isLapsed
    // Renewed before reading: others that read from now on leave these rows alone.
    if (this.#saved.size > 0) await this.#renewLease()
    const listed = await this.#rows.list()
    if (wasLapsed) this.#disown([...this.#saved.values()].filter(({ sk }) => !listed.own.has(sk)))
    this.#saved.clear()
    for (const [sk, stored] of listed.own) this.#saved.set(sk, stored)
    this.#follow(listed.foreign)
    return listed
  }

  async #finish(listed: ListedEvidence): Promise<void> {
    await this.#adoptOrphans(listed)
    await this.#save()
  }

  #follow(foreign: readonly StoredEvidence[]): void {
    this.#foreign = foreign
    this.#options.learner.setForeign(foreign.map(({ row }) => row))
  }

  async #adoptOrphans({ foreign, leases }: ListedEvidence): Promise<void> {
    const now = this.#options.clock.now()
    const { isAlone } = this.#rows
    const isOrphan = ({ node, row }: StoredEvidence) =>
      (leases.get(node) ?? row.at + unleasedMs) <= now || (isAlone && row.at + aloneMs <= now)
    const adopted = new Set<StoredEvidence>()
    await inParallel(foreign.filter(isOrphan), async (orphan) => {
      // A row whose removal fails counts as that of another node, and may be adopted in the next round.
      if (await this.#rows.remove(orphan).catch(() => false)) adopted.add(orphan)
    })
    if (adopted.size === 0) return
    this.#options.learner.adopt([...adopted].map(({ row }) => row))
    this.#follow(foreign.filter((row) => !adopted.has(row)))
  }

  async #save(): Promise<void> {
    const chosen = this.#chosen()
    const changed = [...chosen].filter(([sk, row]) => isWorthSaving(row, this.#saved.get(sk)))
    const dropped = [...this.#saved.values()].filter(({ sk }) => !chosen.has(sk))
    if (changed.length + dropped.length === 0) return
    await this.#renewLease()
    await inParallel(changed, ([sk, row]) => this.#put(sk, row))
    await inParallel(dropped, async (stored) => {
      if (await this.#rows.remove(stored)) this.#saved.delete(stored.sk)
    })
  }

  async #put(sk: string, row: EvidenceRow): Promise<void> {
    const seen = this.#saved.get(sk)
    // Before the store answers: where it does not, the row may have been written all the same.
    this.#saved.set(sk, this.#rows.unconfirmed(sk, row, seen))
    const stored = await this.#rows.put(sk, row, seen)
    if (stored !== undefined) this.#saved.set(sk, stored)
    else {
      // Only a node that adopts a row removes it.
      if (seen !== undefined) this.#disown([seen])
      this.#saved.delete(sk)
    }
  }

  /** Another node counts this evidence as its own now. */
  #disown(rows: readonly StoredEvidence[]): void {
    if (rows.length > 0) this.#options.learner.disown(rows.map(({ row }) => row))
  }

  async #renewLease(): Promise<void> {
    const until = Math.round(this.#options.clock.now() + roundsPerLease * this.#roundMs)
    const isRenewed = until < this.#leaseUntil + this.#roundMs / 2
    if (isRenewed) return
    await this.#rows.lease(until)
    this.#leaseUntil = until
  }

  /** By `sk`. */
  #chosen(): ReadonlyMap<string, EvidenceRow> {
    const byLevel = Map.groupBy(this.#options.learner.own(), ({ level }) => level)
    const chosen = new Map<string, EvidenceRow>()
    for (const [level, rows] of byLevel) {
      const most = rows.filter((row) => this.#rows.canHold(row)).toSorted((a, b) => weightOf(b) - weightOf(a))
      for (const row of most.slice(0, maxSaved[level])) chosen.set(this.#rows.skOf(row), row)
    }
    return chosen
  }
}

/** Sums are not negative; exposure is by far the largest of them. */
const weightOf = ({ sums }: EvidenceRow): number => sums.reduce((total, sum) => total + sum, 0)

function isWorthSaving({ at, sums }: EvidenceRow, saved: StoredEvidence | undefined): boolean {
  if (saved === undefined) return sums.some((sum) => sum !== 0)
  const { at: savedAt, sums: before } = saved.row
  if (saved.isUnconfirmed === true || at >= savedAt + refreshMs || sums.length !== before.length) return true
  return sums.some((sum, i) => sum > worthwhile.rise * before[i]! || sum < worthwhile.fall * before[i]!)
}
