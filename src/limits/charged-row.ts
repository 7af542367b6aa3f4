/**
 * The tokens that one permit has taken from one row: adjustments and the refund go to this row, whatever the limits are
 * by then.
 */
import { andThen, type MaybePromise, orElse } from '../core/maybe.ts'
import type { BucketLimit, CellId, Cells, LimitCost } from '../stores/cells.ts'
import type { Tokens } from './limit.ts'

export class ChargedRow {
  readonly #cells: Cells
  readonly #id: CellId
  readonly #costs: readonly LimitCost[]
  /** By limit, the tokens that are taken; made when something is changed. */
  #charged: Map<string, number> | undefined
  #last: MaybePromise<void> = undefined

  constructor(cells: Cells, id: CellId, costs: readonly (BucketLimit & LimitCost)[]) {
    this.#cells = cells
    this.#id = id
    this.#costs = costs
  }

  /** Gives back no more than was taken. Limits that the row did not have are left out. */
  adjust(delta: Tokens): MaybePromise<void> {
    return this.#inTurn((charged) =>
      [...charged].flatMap(([name, taken]) =>
        Object.hasOwn(delta, name) ? [{ name, cost: Math.max(-taken, delta[name]!) }] : [],
      ),
    )
  }

  refund(): MaybePromise<void> {
    return this.#inTurn((charged) => [...charged].map(([name, taken]) => ({ name, cost: -taken })))
  }

  /** One change after the other: a refund depends on the tokens taken before. */
  #inTurn(costsFrom: (charged: ReadonlyMap<string, number>) => readonly LimitCost[]): MaybePromise<void> {
    this.#charged ??= new Map(this.#costs.map(({ name, cost }) => [name, cost]))
    const charged = this.#charged
    this.#last = andThen(this.#last, () => this.#change(charged, costsFrom(charged)))
    return this.#last
  }

  /**
   * A change that fails is lost, and the request continues. Tokens count as taken once the store has confirmed it, and
   * as returned as soon as the refund is sent, so that a permit never returns more than it took.
   */
  #change(charged: Map<string, number>, changes: readonly LimitCost[]): MaybePromise<void> {
    const costs = changes.filter(({ cost }) => cost !== 0)
    if (costs.length === 0) return
    const count = (isCounted: (cost: number) => boolean): void => {
      for (const { name, cost } of costs) if (isCounted(cost)) charged.set(name, charged.get(name)! + cost)
    }
    count((cost) => cost < 0)
    const outcome = orElse(
      () => this.#cells.take(this.#id, { kind: 'adjust', costs }),
      () => ({ ok: false, reason: 'unavailable' }) as const,
    )
    return andThen(outcome, ({ ok }) => {
      if (ok) count((cost) => cost > 0)
    })
  }
}
