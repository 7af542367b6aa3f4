/**
 * A map with bounds on entries and weight. Beyond them the oldest entries are evicted: the entries that were set
 * longest ago, or used longest ago where `use` reads them.
 */

export interface MapBounds<K, V> {
  readonly maxEntries?: number
  /** Of all entries together, in the unit of `weightOf`. */
  readonly maxWeight?: number
  /** Must stay the same while an entry is held. */
  readonly weightOf?: (value: V, key: K) => number
  /** Called with the weight of every entry that is removed or evicted. */
  readonly onRemoved?: (weight: number) => void
}

export class BoundedMap<K, V> extends Map<K, V> {
  readonly #bounds: MapBounds<K, V>
  #weight = 0

  constructor(bounds: MapBounds<K, V>) {
    super()
    this.#bounds = bounds
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
    const { maxEntries, maxWeight = Number.POSITIVE_INFINITY } = this.#bounds
    const weight = this.#weightOf(key, value)
    if (weight > maxWeight) {
      this.#bounds.onRemoved?.(weight)
      return this
    }
    super.set(key, value)
    this.#weight += weight
    if (maxEntries !== undefined && this.size > maxEntries) this.#evictOldest()
    this.evictTo(maxWeight)
    return this
  }

  override delete(key: K): boolean {
    const { weightOf, onRemoved } = this.#bounds
    const value = weightOf && this.get(key)
    if (!super.delete(key)) return false
    const weight = weightOf?.(value!, key) ?? 0
    this.#weight -= weight
    onRemoved?.(weight)
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
