/** Reading as much of a store as a caller needs, where the store can tell the difference. */
import type { Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { Found, MaybePromise, Store } from './store.ts'

/** Without using what is found there. */
export const peekInto = (store: Store, key: Key, interval: Interval): MaybePromise<Found | undefined> =>
  store.peek === undefined ? store.read(key, interval) : store.peek(key, interval)

/** What lies in this process; all there is in a store that has no far tier. */
export const readNear = (store: Store, key: Key, interval: Interval): MaybePromise<Found | undefined> =>
  store.near === undefined ? store.read(key, interval) : store.near(key, interval)
