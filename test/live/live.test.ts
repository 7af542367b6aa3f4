/**
 * Data keeps arriving, some of it late and out of order, under viewers of rolling windows. Every served value was true
 * at an instant that the published TTLs allow; and the check notices when the TTLs are exceeded.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fixed } from '../../src/ttl/fixed.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { startPrometheus } from '../servers/prometheus.ts'
import { Truth } from './truth.ts'
import { type Seen, watch } from './watch.ts'

const outcome = await startPrometheus({ outOfOrderWindow: '1h' })
const skip = skipReason(outcome)
after(() => (isUnavailable(outcome) ? undefined : outcome.stop()))
const watched = isUnavailable(outcome)
  ? undefined
  : await watch(outcome, { minutes: 20, factors: [1, 2, 10] })

const [honest, twice, tenfold] = watched?.seen ?? []

const answersOf = ({ outcomes }: Seen): number => outcomes.values().reduce((sum, count) => sum + count, 0)

function describe({ outcomes, buckets, outdated, violations }: Seen): string {
  const shares = [...outcomes].map(([name, count]) => `${name} ${count}`).join(', ')
  return `${buckets} buckets, ${outdated} outdated, ${violations.length} violations; ${shares}`
}

test('every bucket shown was true at an instant that its TTL allows', { skip }, (t) => {
  const { changes } = watched!
  t.diagnostic(`published TTLs: ${describe(honest!)}; ${changes} changes of the truth`)
  assert.deepEqual(honest!.violations.slice(0, 5), [])
  assert.ok(honest!.buckets > 100_000)
  // Otherwise there was nothing to be wrong about.
  assert.ok(changes > 2_000)
  assert.ok(honest!.outdated > 2_000)
})

test('most of it came from the cache, and nothing but the first answers was fetched whole', { skip }, () => {
  const { outcomes } = honest!
  const total = answersOf(honest!)
  const share = (name: 'hit' | 'partial' | 'miss') => (outcomes.get(name) ?? 0) / total
  assert.ok(share('hit') > 0.15, `hits ${share('hit')}`)
  assert.ok(share('partial') > 0.4, `partials ${share('partial')}`)
  assert.ok(share('miss') < 0.02, `misses ${share('miss')}`)
  assert.equal(
    (outcomes.get('hit') ?? 0) + (outcomes.get('partial') ?? 0) + (outcomes.get('miss') ?? 0),
    total,
  )
})

test('a policy with ten times the published TTLs is found out', { skip }, (t) => {
  t.diagnostic(`ten times the TTL: ${describe(tenfold!)}`)
  assert.ok(tenfold!.violations.length > 1_000, `only ${tenfold!.violations.length}`)
})

test('one with twice the TTLs is found out too', { skip }, (t) => {
  t.diagnostic(`twice the TTL: ${describe(twice!)}`)
  assert.ok(twice!.violations.length > 100, `only ${twice!.violations.length}`)
})

test('the check: a version may be served as long after its last instant as the TTL allows', () => {
  const truth = new Truth()
  const range = { start: 1000, end: 1000, stepMs: 1000 }
  truth.record(1000, new Map([[1000, 'first']]), range)
  truth.record(3000, new Map([[1000, 'second']]), range)
  truth.record(6000, new Map(), range)
  const served = (content: string, at: number) => truth.mayBeServed(1000, content, { at, policy: fixed(500) })
  assert.deepEqual(
    [999, 1000, 2999, 3498, 3499].map((at) => served('first', at)),
    [false, true, true, true, false],
  )
  assert.deepEqual(
    [2999, 3000, 6498, 6499].map((at) => served('second', at)),
    [false, true, true, false],
  )
  assert.deepEqual(
    [5999, 6000, 60_000].map((at) => served('', at)),
    [false, true, true],
  )
  assert.equal(served('never said', 3000), false)
  assert.equal(truth.changes, 2)
})
