/** The metrics of the stores: their own figures, and the latency of the far ones. */
import { breakerStates } from '../stores/breaker.ts'
import {
  evictionReasons,
  type StoreFigures,
  type StoreOperation,
  storeOperations,
} from '../stores/figures.ts'
import { type Family, family, familyOf, familyOfLines, type Sample } from './exposition.ts'
import { families } from './families.ts'
import { durationBounds, Histograms } from './histograms.ts'

export interface NamedStore extends StoreFigures {
  /** As in the configuration; no two have the same. */
  readonly name: string
  /** The kind of store, such as memory or lmdb. */
  readonly engine: string
}

/** Stores are configured, not sent; still, their number is bounded. */
const maxStores = 32

/** How long operations took, per store. */
export class StoreTimes {
  readonly #stores = new Map<string, Histograms>()

  observe(store: string, operation: StoreOperation, seconds: number): void {
    this.announce(store).observe(storeOperations.indexOf(operation), seconds)
  }

  /** Shows a store before its first operation: a counter that appears with a value of 1 has no rate. */
  announce(store: string): Histograms {
    const known = this.#stores.get(store)
    if (known !== undefined) return known
    const label = this.#stores.size < maxStores ? store : 'other'
    const histograms = this.#stores.get(label) ?? new Histograms(durationBounds, storeOperations.length)
    this.#stores.set(label, histograms)
    return histograms
  }

  lines(): string[] {
    return [...this.#stores].flatMap(([store, histograms]) =>
      storeOperations.map((op, i) => histograms.lines(families.storeOperation, i, [store, op])),
    )
  }
}

export function storeFamilies(all: readonly NamedStore[], times: StoreTimes): string {
  const stores = all.slice(0, maxStores)
  const each = (of: Family, value: (store: StoreFigures) => number | undefined): string =>
    familyOf(of, stores, (store) => [[store.name], value(store)])
  return (
    each(families.storeEntries, ({ entries }) => entries) +
    each(families.storeBytes, ({ bytes }) => bytes) +
    each(families.storeLimit, ({ limitBytes }) => limitBytes) +
    each(families.storeDegraded, ({ health }) => health && (health.state === 'ok' ? 0 : 1)) +
    each(families.storeFailures, ({ failures }) => failures) +
    each(families.storeDropped, ({ dropped }) => dropped) +
    each(families.storeFound, ({ found }) => found) +
    each(families.storeThrottled, countOf('throttled')) +
    each(families.storeRefused, countOf('refusedRequests')) +
    each(families.storeExpired, countOf('expired')) +
    family(families.storeBreaker, stores.flatMap(breakerSamples)) +
    family(families.storeBreakerTransitions, stores.flatMap(transitionSamples)) +
    family(families.evictions, stores.flatMap(evictionSamples)) +
    familyOfLines(families.storeOperation, times.lines())
  )
}

/** An engine that does not report these has none; memory has no engine of its own. */
const countOf =
  (count: 'throttled' | 'refusedRequests' | 'expired') =>
  (store: StoreFigures): number | undefined =>
    store[count] ?? (store.breaker && 0)

const breakerSamples = ({ name, breaker }: NamedStore): Sample[] =>
  breakerStates.map((state) => [[name, state], breaker && Number(breaker.state === state)])

const transitionSamples = ({ name, breaker }: NamedStore): Sample[] =>
  breakerStates.map((state) => [[name, state], breaker?.transitions[state]])

const evictionSamples = ({ name, evictions }: NamedStore): Sample[] =>
  (Object.keys(evictionReasons) as (keyof typeof evictionReasons)[]).map((reason) => [
    [name, reason],
    evictions?.[reason],
  ])
