/** Looking into a store without using what is found there, as far as the store can. */
import type { Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { Found, MaybePromise, Store } from './store.ts'

export const peekInto = (store: Store, key: Key, interval: Interval): MaybePromise<Found | undefined> =>
  store.peek === undefined ? store.read(key, interval) : store.peek(key, interval)
