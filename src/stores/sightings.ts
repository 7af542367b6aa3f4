/**
 * Which shapes were seen before, in a fixed amount of memory: two tables of small counters by hash, of which the
 * older is thrown away after a while. Two shapes that share a counter count for each other: that costs a write to the
 * far store, nothing else.
 */
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Key } from '../core/key.ts'

/** One byte each: with 10,000 shapes about one in seven shares its counter. */
const counters = 64 * 1024
const most = 255

export class Sightings {
  readonly #clock: Clock
  readonly #periodMs: number
  #young = new Uint8Array(counters)
  #old = new Uint8Array(counters)
  #began: EpochMs

  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock
    this.#periodMs = periodMs
    this.#began = clock.now()
  }

  /** Returns how often the key was seen, this time included. */
  see(key: Key, times = 1): number {
    this.#turn()
    const at = placeOf(key)
    this.#young[at] = Math.min(most, this.#young[at]! + times)
    return this.count(key)
  }

  count(key: Key): number {
    const at = placeOf(key)
    return this.#young[at]! + this.#old[at]!
  }

  #turn(): void {
    const elapsed = this.#clock.now() - this.#began
    if (elapsed >= 0 && elapsed < this.#periodMs) return
    this.#old = elapsed < 2 * this.#periodMs ? this.#young : new Uint8Array(counters)
    this.#young = new Uint8Array(counters)
    this.#began = this.#clock.now()
  }
}

/** FNV-1a: keys are hashes already. */
function placeOf(key: Key): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (counters - 1)
}
