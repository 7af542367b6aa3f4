/**
 * Selects the entry to evict. New entries are in a short queue, the others in a long one, both in order of use. To
 * evict one, the first of each queue are compared, and the one that was requested less often lately is evicted: so a
 * flood of one-off queries passes through the short queue and does not evict the dashboards (W-TinyLFU). The request
 * count of a key is kept also while the key is absent. A request counts for more where the entry is small: the cost of
 * a refetch hardly depends on its size. Every step is O(1).
 */
import { hashOf } from '../../core/hash.ts'
import type { Key } from '../../core/key.ts'

interface Sized {
  readonly bytes: number
}

/** The state that an entry keeps when its value is replaced. */
export interface Standing {
  readonly isNew: boolean
}

/** An entry with its place in a line. */
interface Resident<T> extends Standing {
  readonly key: Key
  value: T
  readonly place: number
  isNew: boolean
  /** Bytes that left in its favour. */
  won: number
  previous: Resident<T> | undefined
  next: Resident<T> | undefined
}

/** The part of all bytes that new entries have. */
const newShare = 0.1
/** At most this many are admitted before an eviction: no request waits for a walk through a million. */
const mostMovesAtOnce = 32
const weightOf = (bytes: number): number => (bytes <= 16_384 ? 4 : bytes <= 262_144 ? 2 : 1)

export class Turnover<T extends Sized> {
  readonly #all = new Map<Key, Resident<T>>()
  readonly #new = new Line<T>()
  readonly #main = new Line<T>()
  readonly #requests = new RequestCounts()

  get size(): number {
    return this.#all.size
  }

  get bytes(): number {
    return this.#new.bytes + this.#main.bytes
  }

  /** Leaves no trace. */
  get(key: Key): T | undefined {
    return this.#all.get(key)?.value
  }

  /** Counts as a request, also on a miss. */
  use(key: Key): T | undefined {
    const resident = this.#all.get(key)
    this.#requests.count(resident?.place ?? placeOf(key), this.#all.size)
    if (resident === undefined) return undefined
    this.#lineOf(resident).toEnd(resident)
    return resident.value
  }

  /** Puts an entry at the end of its line. */
  add(key: Key, value: T, standing: Standing = { isNew: true }): void {
    this.delete(key)
    const { isNew } = standing
    const resident = { key, value, place: placeOf(key), isNew, won: 0, previous: undefined, next: undefined }
    this.#all.set(key, resident)
    this.#lineOf(resident).append(resident)
  }

  /** Puts another value in the place of one that is here; that is no use. */
  replace(key: Key, value: T): void {
    const resident = this.#all.get(key)!
    this.#lineOf(resident).bytes += value.bytes - resident.value.bytes
    resident.value = value
  }

  delete(key: Key): Standing | undefined {
    const resident = this.#all.get(key)
    if (resident === undefined) return undefined
    this.#all.delete(key)
    this.#lineOf(resident).unlink(resident)
    return resident
  }

  /** Removes the least valuable entries until this many bytes are free, or the map is empty. */
  *free(bytes: number): Iterable<readonly [Key, T]> {
    const full = this.bytes
    for (let freed = 0; freed < bytes && this.size > 0; ) {
      this.#admitWhatFits((1 - newShare) * full)
      const left = this.#leave(this.#leastWorth())
      freed += left[1].bytes
      yield left
    }
  }

  /** Takes out entries from the beginning of both lines while they fulfil a condition. */
  *takeWhile(isOver: (value: T) => boolean): Iterable<readonly [Key, T]> {
    for (const line of [this.#new, this.#main]) {
      while (line.first !== undefined && isOver(line.first.value)) yield this.#leave(line.first)
    }
  }

  /**
   * Entries that were not used since they were last given here, those used longest ago first, while they fulfil a
   * condition. One that is used, or comes, stands behind the others again.
   */
  *unseen(isDue: (value: T) => boolean): Iterable<T> {
    for (const line of [this.#new, this.#main]) {
      for (let next = line.unseen; next !== undefined && isDue(next.value); next = line.unseen) {
        line.unseen = next.next
        yield next.value
      }
    }
  }

  /** A snapshot: later changes do not affect it. */
  entries(): (readonly [Key, T])[] {
    return Array.from(this.#all.values(), ({ key, value }) => [key, value] as const)
  }

  /** New entries are admitted without comparison while the others have less than their share. */
  #admitWhatFits(most: number): void {
    for (let moves = 0; moves < mostMovesAtOnce; moves++) {
      const { first } = this.#new
      if (first === undefined || this.#main.bytes + first.value.bytes > most) return
      this.#admit(first)
    }
  }

  #leastWorth(): Resident<T> {
    const [candidate, oldest] = [this.#new.first, this.#main.first]
    if (candidate === undefined || oldest === undefined) return (candidate ?? oldest)!
    if (this.#worthOf(candidate) <= this.#worthOf(oldest)) return candidate
    // It is let in when it has won against as much as it takes.
    candidate.won += oldest.value.bytes
    if (candidate.won >= candidate.value.bytes) this.#admit(candidate)
    return oldest
  }

  /** An entry with one request has no value, at any size. */
  #worthOf({ place, value }: Resident<T>): number {
    return (this.#requests.lately(place) - 1) * weightOf(value.bytes)
  }

  #admit(resident: Resident<T>): void {
    this.#new.unlink(resident)
    resident.isNew = false
    this.#main.append(resident)
  }

  #leave({ key, value }: Resident<T>): readonly [Key, T] {
    this.delete(key)
    return [key, value]
  }

  #lineOf({ isNew }: Standing): Line<T> {
    return isNew ? this.#new : this.#main
  }
}

/** A linked list: a Map in order of insertion has to step over everything that has left its front. */
class Line<T extends Sized> {
  first: Resident<T> | undefined
  /** The first that `unseen` has not given; all behind it neither. */
  unseen: Resident<T> | undefined
  bytes = 0
  #last: Resident<T> | undefined

  append(resident: Resident<T>): void {
    resident.previous = this.#last
    resident.next = undefined
    if (this.#last === undefined) this.first = resident
    else this.#last.next = resident
    this.#last = resident
    this.unseen ??= resident
    this.bytes += resident.value.bytes
  }

  unlink(resident: Resident<T>): void {
    const { previous, next } = resident
    if (this.unseen === resident) this.unseen = next
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    this.bytes -= resident.value.bytes
  }

  toEnd(resident: Resident<T>): void {
    this.unlink(resident)
    this.append(resident)
  }
}

/**
 * One byte each, twice. With 10,000 keys about one in fifty shares its counter, with 64,000 one in nine: a one-off
 * query that shares a counter is taken for a repeated one.
 */
const places = 512 * 1024
const most = 255
/** Requests per entry after which the counts are halved, and the bounds of that. */
const perEntry = 4
const fewestRequests = 4000
const mostRequests = 64 * 1024

/**
 * How often keys were requested lately, in a fixed amount of memory. Two keys that share a counter count for each
 * other.
 */
class RequestCounts {
  #young = new Uint8Array(places)
  #old = new Uint8Array(places)
  #counted = 0

  count(place: number, entries: number): void {
    if (this.#young[place]! < most) this.#young[place]!++
    if (++this.#counted >= Math.min(mostRequests, Math.max(fewestRequests, perEntry * entries))) this.#turn()
  }

  lately(place: number): number {
    return this.#young[place]! + this.#old[place]!
  }

  #turn(): void {
    const older = this.#old.fill(0)
    this.#old = this.#young
    this.#young = older
    this.#counted = 0
  }
}

function placeOf(key: Key): number {
  const hash = hashOf(key)
  return (hash ^ (hash >>> 15)) & (places - 1)
}
