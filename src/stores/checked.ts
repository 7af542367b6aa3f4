/** Of which gaps a slower store was asked lately: what it did not know then is not asked for again at once. */
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Interval } from '../core/interval.ts'
import { contains } from '../core/interval.ts'
import type { Key } from '../core/key.ts'

const maxRemembered = 10_000

export class Checked {
  readonly #clock: Clock
  readonly #forMs: number
  /** Per key the last gap. */
  readonly #gaps = new Map<Key, Interval & { readonly at: EpochMs }>()

  constructor(clock: Clock, forMs: number) {
    this.#clock = clock
    this.#forMs = forMs
  }

  has(key: Key, gap: Interval): boolean {
    const checked = this.#gaps.get(key)
    const now = this.#clock.now()
    if (checked === undefined || checked.at + this.#forMs <= now) return false
    return checked.at <= now && contains(checked, gap)
  }

  note(key: Key, gap: Interval): void {
    this.#gaps.delete(key)
    this.#gaps.set(key, { from: gap.from, to: gap.to, at: this.#clock.now() })
    if (this.#gaps.size > maxRemembered) this.#gaps.delete(this.#gaps.keys().next().value!)
  }

  delete(key: Key): void {
    this.#gaps.delete(key)
  }
}
