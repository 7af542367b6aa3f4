/**
 * A map with bounds on entries and weight. Beyond them the oldest entries are evicted: the entries that were set
 * longest ago, or used longest ago where `use` reads them.
 */
import type { Budget } from './budget.ts'

/** Without `onPressure` the budget evicts nothing. */
export type MapBudget = Pick<Budget, 'reserve' | 'release'> & Partial<Pick<Budget, 'onPressure'>>

export interface MapBounds<K, V> {
  readonly maxEntries?: number
  /** Of all entries together, in the unit of `weightOf`. */
  readonly maxWeight?: number
  /** Must stay the same while an entry is held. */
  readonly weightOf?: (value: V, key: K) => number
  /** Of which entries take their weight: an entry without room there is not held. */
  readonly budget?: MapBudget | undefined
}

export class BoundedMap<K, V> extends Map<K, V> {
  readonly #bounds: MapBounds<K, V>
  #weight = 0

  constructor(bounds: MapBounds<K, V>) {
    super()
    this.#bounds = bounds
    bounds.budget?.onPressure?.(
      (bytes) => this.evictTo(this.#weight - bytes),
      () => this.#weight,
    )
  }

  get weight(): number {
    return this.#weight
  }

  /** The value of a key, which becomes the newest entry. */
  use(key: K): V | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    super.delete(key)
    super.set(key, value)
    return value
  }

  /** An entry that exceeds the bounds alone is not held: it would evict all others, and be evicted by the next. */
  override set(key: K, value: V): this {
    this.delete(key)
    const { maxEntries, maxWeight = Number.POSITIVE_INFINITY, budget } = this.#bounds
    const weight = this.#weightOf(key, value)
    if (weight > maxWeight) return this
    this.evictTo(maxWeight - weight)
    if (budget?.reserve(weight) === false) return this
    super.set(key, value)
    this.#weight += weight
    if (maxEntries !== undefined && this.size > maxEntries) this.#evictOldest()
    return this
  }

  override delete(key: K): boolean {
    const { weightOf, budget } = this.#bounds
    const value = weightOf && this.get(key)
    if (!super.delete(key)) return false
    const weight = weightOf?.(value!, key) ?? 0
    this.#weight -= weight
    budget?.release(weight)
    return true
  }

  override clear(): void {
    for (const key of this.keys()) this.delete(key)
  }

  /** Evicts the oldest entries until no more than `weight` is held. */
  evictTo(weight: number): void {
    while (this.#weight > weight && this.size > 0) this.#evictOldest()
  }

  #evictOldest(): void {
    this.delete(this.keys().next().value!)
  }

  #weightOf(key: K, value: V): number {
    return this.#bounds.weightOf?.(value, key) ?? 0
  }
}
