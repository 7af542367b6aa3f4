/**
 * This node's knowledge of keys in a shared store: the record it wrote last, so that it is not written with every
 * refresh, and the stamp of the last change that it has seen, so that it notices changes by other nodes.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'

interface KnownKey {
  /** The record as it was last written here, without its clock. */
  readonly record?: string
  readonly recordedAt: EpochMs
  /** Of the last change that was compared with the content of memory. */
  readonly stamp?: Buffer
  /** Another node has changed the key since. */
  readonly isBehind: boolean
}

const unknown: KnownKey = { recordedAt: Number.NEGATIVE_INFINITY, isBehind: false }
const maxKnown = 10_000

export class KnownKeys {
  readonly #keys = new BoundedMap<Key, KnownKey>({ maxEntries: maxKnown })

  /** Whether a record has to be written: it is not the one written last, or that was long ago. */
  isRecordDue(key: Key, record: string, since: EpochMs): boolean {
    const known = this.#keys.get(key)
    return known?.record !== record || known.recordedAt < since
  }

  wrote(key: Key, stamp: Buffer, record?: { readonly text: string; readonly at: EpochMs }): void {
    const known = this.#keys.get(key) ?? unknown
    const written = record && { record: record.text, recordedAt: record.at }
    this.#keys.set(key, { ...known, ...written, stamp })
  }

  /** A read found this stamp; undefined where the key is gone, so that its record has to be written again. */
  saw(key: Key, stamp: Buffer | undefined): void {
    const known = this.#keys.get(key)
    if (stamp === undefined) this.#keys.delete(key)
    else if (known?.stamp !== undefined && !known.stamp.equals(stamp))
      this.#keys.set(key, { ...known, isBehind: true })
  }

  /** Whether another node has changed the key since this was last called. An unknown key counts as changed. */
  isBehind(key: Key, stamp: Buffer | undefined): boolean {
    const known = this.#keys.get(key)
    if (stamp === undefined) return false
    const isBehind = known?.stamp === undefined || known.isBehind || !known.stamp.equals(stamp)
    this.#keys.set(key, { ...(known ?? unknown), stamp, isBehind: false })
    return isBehind
  }

  forget(key: Key): void {
    this.#keys.delete(key)
  }
}
