/**
 * How often shapes were seen, in a fixed amount of memory: two tables of counters, of which the older is discarded after
 * a while. Where more shapes come than a table has room for, those that were seen least and longest ago are forgotten:
 * they count as new, and are written to the far store one sighting later.
 */
import type { Clock, EpochMs } from '../core/clock.ts'
import { hashOf } from '../core/hash.ts'
import type { Key } from '../core/key.ts'

/** 64 Ki shapes, each in one of the entries of its set. */
const sets = 16 * 1024
const entriesPerSet = 4
/** An entry is the bits of a shape's hash that do not select its set, and its counter in the bits below; 0 is free. */
const counterMask = 0xff

export class Sightings {
  readonly #clock: Clock
  readonly #periodMs: number
  #young = new Table()
  #old = new Table()
  #began: EpochMs

  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock
    this.#periodMs = periodMs
    this.#began = clock.now()
  }

  /** Returns how often the key was seen, this time included. */
  see(key: Key, times = 1): number {
    this.#turn()
    const hash = hashOf(key)
    return this.#young.add(hash, times) + this.#old.count(hash)
  }

  count(key: Key): number {
    const hash = hashOf(key)
    return this.#young.count(hash) + this.#old.count(hash)
  }

  #turn(): void {
    const elapsed = this.#clock.now() - this.#began
    if (elapsed >= 0 && elapsed < this.#periodMs) return
    this.#old = elapsed < 2 * this.#periodMs ? this.#young : new Table()
    this.#young = new Table()
    this.#began = this.#clock.now()
  }
}

class Table {
  /** In each set the entry that was seen last is the first. */
  readonly #entries = new Uint32Array(sets * entriesPerSet)

  count(hash: number): number {
    const at = this.#find(hash)
    return at < 0 ? 0 : this.#entries[at]! & counterMask
  }

  /** Returns the new count. */
  add(hash: number, times: number): number {
    const found = this.#find(hash)
    const before = found < 0 ? 0 : this.#entries[found]! & counterMask
    const after = Math.min(counterMask, before + times)
    const first = firstOf(hash)
    const at = found < 0 ? this.#leastOf(first) : found
    this.#entries.copyWithin(first + 1, first, at)
    this.#entries[first] = (labelOf(hash) | after) >>> 0
    return after
  }

  #find(hash: number): number {
    const first = firstOf(hash)
    for (let at = first; at < first + entriesPerSet; at++) {
      const entry = this.#entries[at]!
      if (entry !== 0 && (entry & ~counterMask) === labelOf(hash)) return at
    }
    return -1
  }

  /** Of a set: the entry that was seen least often, of several the one that was seen longest ago. */
  #leastOf(first: number): number {
    let least = first
    for (let at = first + 1; at < first + entriesPerSet; at++)
      if ((this.#entries[at]! & counterMask) <= (this.#entries[least]! & counterMask)) least = at
    return least
  }
}

const firstOf = (hash: number): number => (hash % sets) * entriesPerSet
const labelOf = (hash: number): number => Math.floor(hash / sets) << 8
