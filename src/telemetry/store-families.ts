/** The metrics of the stores: their own figures, and the latency of the far ones. */
import { type BreakerState, breakerStates } from '../stores/breaker.ts'
import {
  evictionReasons,
  type StoreFigures,
  type StoreOperation,
  storeOperations,
} from '../stores/figures.ts'
import { type Family, headOf, type Labels, sample } from './exposition.ts'
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

  lines(): string {
    const { name } = families.storeOperation
    const linesOf = ([store, histograms]: readonly [string, Histograms]): string =>
      storeOperations.map((op, i) => histograms.lines(name, i, ['store', store, 'op', op])).join('')
    return [...this.#stores].map(linesOf).join('')
  }
}

export function storeFamilies(all: readonly NamedStore[], times: StoreTimes): string {
  const stores = all.slice(0, maxStores)
  const each = (of: Family, value: (store: StoreFigures) => number | undefined): string =>
    headOf(of) + stores.map((store) => sampleOf(of.name, ['store', store.name], value(store))).join('')
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
    headOf(families.storeBreaker) +
    stores.map((store) => breakerLines(store, families.storeBreaker, 'state')).join('') +
    headOf(families.storeBreakerTransitions) +
    stores.map((store) => breakerLines(store, families.storeBreakerTransitions, 'to')).join('') +
    headOf(families.evictions) +
    stores.map(evictionsOf).join('') +
    headOf(families.storeOperation) +
    times.lines()
  )
}

/** An engine that does not report these has none; memory has no engine of its own. */
const countOf =
  (count: 'throttled' | 'refusedRequests' | 'expired') =>
  (store: StoreFigures): number | undefined =>
    store[count] ?? (store.breaker && 0)

/** `state`: which one it is in. `to`: how often it entered each. */
function breakerLines({ name, breaker }: NamedStore, family: Family, label: 'state' | 'to'): string {
  if (breaker === undefined) return ''
  const shown = (state: BreakerState): number =>
    label === 'to' ? breaker.transitions[state] : Number(breaker.state === state)
  return breakerStates
    .map((state) => sample(family.name, ['store', name, label, state], shown(state)))
    .join('')
}

const evictionsOf = ({ name, evictions }: NamedStore): string =>
  (Object.keys(evictionReasons) as (keyof typeof evictionReasons)[])
    .map((reason) =>
      sampleOf(families.evictions.name, ['store', name, 'reason', reason], evictions?.[reason]),
    )
    .join('')

const sampleOf = (name: string, labels: Labels, value: number | undefined): string =>
  value === undefined ? '' : sample(name, labels, value)
