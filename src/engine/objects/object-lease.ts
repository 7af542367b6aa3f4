/**
 * The lease on regenerating an object: a LOCK row beside its META row. The holder renews it at a third of its length. It
 * publishes only at the revision of its own row and before that has run out, so that a holder which lost it cannot.
 */
import type { Clock, EpochMs } from '../../core/clock.ts'
import { newUuid } from '../../core/uuid.ts'
import type { Cell, CellDraft, Cells, PutOutcome, Revision } from '../../stores/cells.ts'
import { lockId } from './object-names.ts'
import { schema } from './object-rows.ts'

export interface LeaseOptions {
  readonly cells: Cells
  readonly clock: Clock
  readonly leaseMs: number
  /** Rows are collected this long after they ran out. */
  readonly bufferSeconds: number
}

export interface HeldElsewhere {
  readonly token: string
  readonly until: EpochMs
}

const lockKind = 'object-lock'
const renewalsPerLease = 3
/** After a renewal that failed. */
const retriesPerLease = 10

export class ObjectLeases {
  readonly #options: LeaseOptions

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Rejects where the store cannot be reached. Even its holder does not get it a second time. */
  async acquire(pk: string): Promise<ObjectLease | HeldElsewhere> {
    const { clock } = this.#options
    const token = newUuid(clock.random)
    const outcome = await this.#put(pk, token)
    if (outcome.ok) return new ObjectLease(this.#options, { pk, token, rev: outcome.rev })
    if (outcome.reason !== 'condition') throw new Error(`a lease was refused: ${outcome.reason}`)
    return holderIn(outcome.current) ?? { token: '', until: clock.now() }
  }

  async #put(pk: string, token: string): Promise<PutOutcome> {
    const { cells } = this.#options
    try {
      const draft = lockDraft(token, this.#options)
      return await cells.put(lockId(pk), draft, { is: 'expired', deadline: 'leaseUntil' })
    } catch (error) {
      // It may have been written, and other nodes would wait for an unused lease.
      void new ObjectLease(this.#options, { pk, token, rev: '' }).release()
      throw error
    }
  }

  /** Undefined where no node holds it. */
  async holder(pk: string): Promise<HeldElsewhere | undefined> {
    const held = holderIn(await this.#options.cells.get(lockId(pk), schema))
    return held !== undefined && this.#options.clock.now() < held.until ? held : undefined
  }
}

interface Held {
  readonly pk: string
  readonly token: string
  readonly rev: Revision
}

export class ObjectLease {
  readonly #options: LeaseOptions
  #held: Held
  #isOver = false
  #renewal: Promise<unknown> = Promise.resolve()
  #timer = { cancel(): void {} }

  constructor(options: LeaseOptions, held: Held) {
    this.#options = options
    this.#held = held
    this.#renewAfter(options.leaseMs / renewalsPerLease)
  }

  /** Ends the renewals. Resolves to the revision of the row, once no renewal is under way that could change it. */
  async settle(): Promise<Revision> {
    this.#isOver = true
    this.#timer.cancel()
    await this.#renewal
    return this.#held.rev
  }

  /** The revision of the row where it is still ours: a renewal may have been done although it seemed to fail. */
  async lookUp(): Promise<Revision | undefined> {
    const { cells, clock } = this.#options
    const cell = await cells.get(lockId(this.#held.pk), schema)
    const held = holderIn(cell)
    return held?.token === this.#held.token && clock.now() < held.until ? cell?.rev : undefined
  }

  /** Never rejects: a row that cannot be removed runs out by itself, and no answer depends on it. */
  async release(): Promise<void> {
    const { cells } = this.#options
    const { pk } = this.#held
    try {
      const rev = await this.settle()
      if (await cells.remove(lockId(pk), { is: 'revision', rev })) return
      const now = await this.lookUp()
      if (now !== undefined) await cells.remove(lockId(pk), { is: 'revision', rev: now })
    } catch {
      // Others wait until it has run out.
    }
  }

  #renewAfter(ms: number): void {
    const { clock, leaseMs } = this.#options
    this.#timer = clock.after(ms, () => {
      this.#renewal = this.#renew().then(
        (isHeld) => {
          if (isHeld && !this.#isOver) this.#renewAfter(leaseMs / renewalsPerLease)
        },
        () => {
          if (!this.#isOver) this.#renewAfter(leaseMs / retriesPerLease)
        },
      )
    })
  }

  /** Resolves to false where the lease is lost. */
  async #renew(): Promise<boolean> {
    const { cells } = this.#options
    const { pk, token, rev } = this.#held
    const draft = lockDraft(token, this.#options)
    const renew = (at: Revision) =>
      cells.put(lockId(pk), draft, { is: 'revision', rev: at, before: 'leaseUntil' })
    let outcome = await renew(rev)
    if (!outcome.ok && outcome.reason === 'condition') {
      const now = await this.lookUp()
      if (now === undefined) return false
      outcome = await renew(now)
    }
    if (!outcome.ok) throw new Error(`a renewal was refused: ${outcome.reason}`)
    this.#held = { ...this.#held, rev: outcome.rev }
    return true
  }
}

function lockDraft(token: string, { clock, leaseMs, bufferSeconds }: LeaseOptions): CellDraft {
  const leaseUntil = clock.now() + leaseMs
  const seconds = Math.ceil(leaseUntil / 1000)
  return {
    kind: lockKind,
    v: schema,
    clocks: { leaseUntil },
    collectAt: seconds + Math.ceil(bufferSeconds),
    value: new Uint8Array(0),
    attributes: { lease_token: token, lease_expires_at: seconds },
  }
}

function holderIn(cell: Cell | undefined): HeldElsewhere | undefined {
  const token = cell?.attributes?.['lease_token']
  return cell === undefined ? undefined : { token: String(token), until: cell.clocks.leaseUntil ?? 0 }
}
