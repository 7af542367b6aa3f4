/** Reads only the tiers of a store that a caller needs, where the store has several. */
import type { Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { Found, MaybePromise, Store } from './store.ts'

/** Does not count as a use. */
export const peekInto = (store: Store, key: Key, interval: Interval): MaybePromise<Found | undefined> =>
  store.peek === undefined ? store.read(key, interval) : store.peek(key, interval)

/** The content in this process; all content of a store without a far tier. */
export const readNear = (store: Store, key: Key, interval: Interval): MaybePromise<Found | undefined> =>
  store.near === undefined ? store.read(key, interval) : store.near(key, interval)
