/** Tools of the family's suites: a proxy whose stored buckets stay fresh, and the expected results of each form. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Backend } from '../../src/backends/backend.ts'
import { startWindowpane, type Windowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { fixed } from '../../src/ttl/fixed.ts'
import type { Counts } from './differential.ts'

/** The samples are minutes old: every bucket is settled. */
export const options = { settledAgeMs: 0, maxBuckets: defaultLimits.maxBuckets }

export async function startUnderTest(
  t: TestContext,
  upstream: string,
  backend: Backend,
): Promise<Windowpane> {
  const proxy = await startWindowpane({ upstream, backend, listen: '127.0.0.1:0', policy: fixed(3_600_000) })
  t.after(() => proxy.close())
  return proxy
}

const countOf = (counts: Counts, query: string, outcome: string): number => {
  let sum = 0
  for (const [name, count] of counts.get(query)!) if (name.split('/')[0] === outcome) sum += count
  return sum
}

export function report(t: TestContext, counts: Counts): void {
  const total = new Map<string, number>()
  for (const seen of counts.values())
    for (const [name, count] of seen) total.set(name, (total.get(name) ?? 0) + count)
  t.diagnostic(`${counts.size} forms: ${[...total].map(([name, count]) => `${count} ${name}`).join(', ')}`)
}

/** A proxy that forwards everything is also equal. */
export function assertCached(
  counts: Counts,
  { hits, partials }: { readonly hits: number; readonly partials: number },
): void {
  for (const query of counts.keys()) {
    assert.equal(countOf(counts, query, 'bypass'), 0, `${query} is bypassed`)
    const [hit, partial] = [countOf(counts, query, 'hit'), countOf(counts, query, 'partial')]
    assert.ok(hit >= hits && partial >= partials, `${query}: ${hit} hits, ${partial} partial`)
  }
}
