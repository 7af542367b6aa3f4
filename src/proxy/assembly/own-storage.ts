/** The stores of a server that shares them with no other thread, and their retention. */
import type { Budget } from '../../core/budget.ts'
import { WholeRules } from '../../engine/objects/whole-terms.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ProxyServerOptions } from './options.ts'
import { objectShare } from './served-backends.ts'
import { type Storage, Tiers } from './tiers.ts'

export function ownStorage(options: ProxyServerOptions, budget: Budget): Storage {
  const { clock, limits, telemetry, farStores = new Map(), parts, store = memoryStore } = options
  const { maxBucketsPerShape } = limits
  const retentionMs = retentionOf(options)
  const memory = store({ clock, budget, retentionMs, maxBucketsPerShape })
  const objectBytes = limits.memoryBytes * objectShare
  return new Tiers({
    ...{ clock, memory, farStores, telemetry, retentionMs, objectBytes },
    onMarks: parts?.hooks?.onMarks,
  })
}

/**
 * Stale serving needs the old bytes: nothing is collected while it is of use. Fixed at start, because marks are kept
 * for as long: where a reload makes TTLs longer than that, buckets are collected before their TTL is over, and fetched
 * again.
 */
export function retentionOf({ limits, databases }: Pick<ProxyServerOptions, 'limits' | 'databases'>): number {
  const caps = databases.flatMap(({ settings, segments, backend }) => {
    const { terms, rules, whole } = settings()
    const all = [terms, ...rules.map((rule) => ({ ...terms, ...rule.terms }))]
    const wholeMs = whole === undefined ? 0 : new WholeRules(backend.whole, whole).longestUseMs
    return all.map(({ policy, maxStaleMs }) =>
      Math.max(Math.max(policy.capMs, segments?.maxAgeMs ?? 0) + maxStaleMs, wholeMs + maxStaleMs),
    )
  })
  return Math.max(limits.retentionMs, ...caps)
}
