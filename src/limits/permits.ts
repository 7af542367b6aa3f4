/** The permits that a limiter hands out. */

import { allOf, andThen, type MaybePromise } from '../core/maybe.ts'
import type { ChargedRow } from './charged-row.ts'
import type { LimitSource, LimitStatus, Permit, Tokens } from './limit.ts'
import { badLimits } from './token-bucket.ts'

const nothing = (): void => {}

/** For entities without limits. */
export const uncountedPermit: Permit = Object.freeze({
  ok: true,
  limits: Object.freeze([]),
  adjust: nothing,
  refund: nothing,
})

export const degradedPermit: Permit = Object.freeze({ ...uncountedPermit, isDegraded: true })

export class CountedPermit implements Permit {
  readonly ok = true
  readonly source: LimitSource
  readonly limits: readonly LimitStatus[]
  readonly #rows: readonly ChargedRow[]
  #isRefunded = false

  constructor(source: LimitSource, limits: readonly LimitStatus[], rows: readonly ChargedRow[]) {
    this.source = source
    this.limits = limits
    this.#rows = rows
  }

  adjust(delta: Tokens): MaybePromise<void> {
    for (const [name, tokens] of Object.entries(delta))
      if (!Number.isSafeInteger(tokens))
        throw badLimits(`The adjustment of ${JSON.stringify(name)} is ${tokens}, not a whole number.`)
    return this.#isRefunded ? undefined : this.#onAll((row) => row.adjust(delta))
  }

  /** Afterwards the rows have nothing of this permit left to give back. */
  refund(): MaybePromise<void> {
    this.#isRefunded = true
    return this.#onAll((row) => row.refund())
  }

  #onAll(change: (row: ChargedRow) => MaybePromise<void>): MaybePromise<void> {
    return andThen(allOf(this.#rows.map(change)), nothing)
  }
}
