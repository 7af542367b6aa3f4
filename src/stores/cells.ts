/**
 * The second face of storage: everything that is one small row under a condition (leases, marks, object metadata, token
 * buckets, learned rates). A row has correctness clocks, which decide whether it may be used, and a collection clock
 * for garbage collection only: a collected row is absent even while the engine still has it, and the early removal of a
 * row proves nothing. Its laws are in testing/test-store.ts; the semantics of the conditions are in cell-rules.ts and
 * bucket-rules.ts, which all engines share.
 */
import type { EpochMs } from '../core/clock.ts'
import type { MaybePromise } from './store.ts'

/** Rows of one `pk` are listed together. */
export interface CellId {
  readonly pk: string
  readonly sk: string
}

/** NUL is in no id, so that no two ids give the same text; that of an empty `sk` is a prefix of its `pk`'s rows. */
export const textOfId = ({ pk, sk }: CellId): string => `${pk}\0${sk}`

/** Names one state of one row: unique, never used again, and compared for equality only. */
export type Revision = string

/** Whole seconds since 1970: the resolution of the coarsest engine. */
export type EpochSeconds = number

/** Correctness clocks. fresh <= stale <= error <= collection, and lease <= collection, or the row is refused. */
export interface CellClocks {
  readonly freshUntil?: EpochMs
  readonly staleUntil?: EpochMs
  readonly errorUntil?: EpochMs
  readonly leaseUntil?: EpochMs
  /** When a token bucket was last credited. */
  readonly refilledAt?: EpochMs
}

export type Deadline = 'freshUntil' | 'staleUntil' | 'errorUntil' | 'leaseUntil'

export interface CellDraft {
  readonly kind: string
  /** The schema of `value`: a row of another schema is absent to a reader of this one. */
  readonly v: number
  readonly clocks: CellClocks
  /** Garbage collection only. "Never" is a value of its own; 0 is refused. */
  readonly collectAt: EpochSeconds | 'never'
  readonly value: Uint8Array
  /** Facts that readers in other languages find under their own names, next to the members of the row. */
  readonly attributes?: CellAttributes
}

/** Text or whole numbers. Names are in lower case (`generated_at`) and none of `reservedNames` in cell-names.ts. */
export type CellAttributes = Readonly<Record<string, string | number>>

export interface Cell extends CellDraft {
  readonly rev: Revision
  /** Token buckets: one level per limit. */
  readonly levels?: readonly BucketLevel[]
}

/** How many limits fit into one row, and how they are named. */
export const maxLimits = 16
export const limitName = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/

/**
 * One limit of a token bucket. Whole numbers above 0. A token is `unitsPerToken` units and each millisecond credits
 * `creditPerMs` of them, so that no credit has a remainder. `capacity * unitsPerToken` must be a safe integer.
 */
export interface BucketLimit {
  /** Matches `limitName`. */
  readonly name: string
  /** Tokens. */
  readonly capacity: number
  readonly unitsPerToken: number
  readonly creditPerMs: number
}

/** The remaining credit of a limit, and the parameters that it was counted in. */
export interface BucketLevel extends BucketLimit {
  /** Units; below 0 is debt. */
  readonly level: number
}

export type Condition =
  | { readonly is: 'absent' }
  /** Absent, or this clock has been reached (or was never set). */
  | { readonly is: 'expired'; readonly deadline: Deadline }
  /**
   * Present at this revision and, where `before` is given, before this clock is reached: an expired holder may not
   * publish.
   */
  | { readonly is: 'revision'; readonly rev: Revision; readonly before?: Deadline }

/** Holds for every row that sets no `freshUntil`, and where there is no row. */
export const whateverIsThere: Condition = { is: 'expired', deadline: 'freshUntil' }

/** Holds while a row is as it was read; undefined where there was none. */
export const unchangedSince = (rev: Revision | undefined): Condition =>
  rev === undefined ? { is: 'absent' } : { is: 'revision', rev }

export type CellRefusal =
  | 'condition'
  | 'clocks'
  | 'id'
  | 'attributes'
  | 'too_large'
  | 'duplicate'
  /** The changes concern several partitions: no engine could make all of them or none. */
  | 'partition'
  /** A take whose limits violate the rules of `TokenTake` and `BucketLimit`. */
  | 'limits'
  | 'unavailable'

export type PutOutcome =
  | { readonly ok: true; readonly rev: Revision }
  /** `current` is the row that stood in the way. */
  | { readonly ok: false; readonly reason: CellRefusal; readonly current?: Cell }

export interface LimitCost {
  readonly name: string
  /** Whole tokens. */
  readonly cost: number
}

/**
 * Takes from all limits of a row, or from none. A limit that the row does not have yet begins at its capacity; one that
 * the row has and the take does not is dropped; one whose parameters have changed is rescaled. `peek` returns the
 * remaining credit, whatever the costs are, and writes nothing.
 */
export interface TokenTake {
  readonly kind: 'take' | 'peek'
  /** At least one and at most `maxLimits`, of different names. No cost is below 0. */
  readonly limits: readonly (BucketLimit & LimitCost)[]
  /** The row is kept at least this long, and at least until it would be full again. */
  readonly keepMs: number | 'forever'
}

/**
 * Takes more than the remaining credit, which leads into debt, or returns credit where a cost is below 0, up to the
 * capacity. The row keeps its limits and their parameters; limits that it does not have are ignored. Where there is no
 * row, none is created.
 */
export interface TokenAdjust {
  readonly kind: 'adjust'
  readonly costs: readonly LimitCost[]
}

export type Take = TokenTake | TokenAdjust

export type TakeOutcome =
  /** `collectAt` is undefined where there is no row. */
  | {
      readonly ok: true
      readonly levels: readonly BucketLevel[]
      readonly collectAt?: EpochSeconds | 'never'
    }
  /** `exceeded` names the limits that refuse. `retryAfterMs` is undefined where waiting does not help. */
  | {
      readonly ok: false
      readonly levels: readonly BucketLevel[]
      readonly exceeded: readonly string[]
      readonly retryAfterMs: number | undefined
    }
  | { readonly ok: false; readonly reason: CellRefusal }

export type Change =
  | { readonly id: CellId; readonly put: CellDraft; readonly if: Condition }
  | { readonly id: CellId; readonly remove: true; readonly if: Condition }

export type PublishOutcome =
  | { readonly ok: true; readonly revs: readonly (Revision | undefined)[] }
  /** The first change that could not be made; none was. */
  | { readonly ok: false; readonly reason: CellRefusal; readonly failed: number }

export interface CellCapabilities {
  readonly shared: boolean
  readonly durable: boolean
  readonly maxValueBytes: number
}

export interface Cells {
  readonly name: string
  readonly capabilities: CellCapabilities
  /** True while no other process has the store open. Engines that cannot know omit it. */
  isAlone?(): boolean
  /** The row, fresh or not; undefined where it is absent, collected or of another schema. */
  get(id: CellId, v: number): MaybePromise<Cell | undefined>
  /** Every row of a `pk`, in the byte order of `sk`. */
  list(pk: string, v: number): MaybePromise<readonly (readonly [sk: string, cell: Cell])[]>
  put(id: CellId, draft: CellDraft, condition: Condition): MaybePromise<PutOutcome>
  /** Takes from a token bucket, which is credited up to now first. A bucket that is absent begins full. */
  take(id: CellId, take: Take): MaybePromise<TakeOutcome>
  /** Returns whether the row was there and the condition held. */
  remove(id: CellId, condition: Condition): MaybePromise<boolean>
  /** All changes or none. They concern rows of one `pk`, each at most once. */
  publish(changes: readonly Change[]): MaybePromise<PublishOutcome>
  close(): MaybePromise<void>
}
