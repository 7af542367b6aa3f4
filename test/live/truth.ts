/**
 * The history of truth: the database's own value of every bucket, and from when until when. And the check that a served
 * bucket was true at an instant at which it may have been fetched.
 */
import type { TtlPolicy } from '../../src/ttl/policy.ts'
import type { Matrix } from '../servers/query.ts'

/** A bucket's whole content, all series of it; empty where there is none. */
type Content = string

interface Version {
  readonly content: Content
  /** True from here on, until the next version. */
  readonly from: number
}

export type Buckets = ReadonlyMap<number, Content>

export class Truth {
  readonly #versions = new Map<number, Version[]>()

  /** The database's values at `now`; absent buckets are empty. */
  record(now: number, said: Buckets, range: { start: number; end: number; stepMs: number }): void {
    for (let at = range.start; at <= range.end; at += range.stepMs) {
      const content = said.get(at) ?? ''
      const versions = this.#versions.get(at)
      if (versions === undefined) this.#versions.set(at, [{ content, from: now }])
      else if (versions.at(-1)!.content !== content) versions.push({ content, from: now })
    }
  }

  /** How often the database's value of a bucket changed. */
  get changes(): number {
    let changes = 0
    for (const versions of this.#versions.values()) changes += versions.length - 1
    return changes
  }

  isCurrent(bucket: number, content: Content): boolean {
    return this.#versions.get(bucket)?.at(-1)?.content === content
  }

  /**
   * Whether a bucket served at `at` has the database's value at some instant f at which it may have been fetched: f <=
   * at < f + ttl(f - bucket). The later f, the longer it may be served: of every version its last instant decides.
   */
  mayBeServed(bucket: number, content: Content, serving: { at: number; policy: TtlPolicy }): boolean {
    const { at, policy } = serving
    const versions = this.#versions.get(bucket) ?? []
    return versions.some((version, i) => {
      if (version.content !== content || version.from > at) return false
      const lastInstant = Math.min(at, (versions[i + 1]?.from ?? Number.POSITIVE_INFINITY) - 1)
      return at < lastInstant + policy.ttl(lastInstant - bucket)
    })
  }
}

/** An answer bucket by bucket. */
export function bucketsOf(body: string): Buckets {
  const { data } = JSON.parse(body) as { data: { result: Matrix[] } }
  const buckets = new Map<number, Content>()
  for (const { metric, values } of data.result) {
    const name = JSON.stringify(metric)
    for (const [seconds, value] of values ?? []) {
      const at = Math.round(seconds * 1000)
      buckets.set(at, `${buckets.get(at) ?? ''}${name}=${value};`)
    }
  }
  return buckets
}
