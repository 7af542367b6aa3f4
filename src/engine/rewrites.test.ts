/** Exceptions are rewrites of plans: each is held against the plan of the request that the client could have sent instead. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { getRange } from '../../test/rigs/range-requests.ts'
import type { Backend, Plan, WireRequest } from '../backends/backend.ts'
import { druid } from '../backends/druid/index.ts'
import { prometheus } from '../backends/prometheus/index.ts'
import { victoriametrics } from '../backends/victoriametrics/index.ts'
import type { EpochMs } from '../core/clock.ts'
import { fixed } from '../ttl/fixed.ts'
import { ladder } from '../ttl/ladder.ts'
import { type RewriteTerms, rewritePlan } from './rewrites.ts'

const policy = ladder()
const floorMs = policy.ttl(-1)
const now = Date.UTC(2026, 2, 10, 12, 0, 17, 345)
const minute = 60_000
const hour = 60 * minute

const version = { isKnown: true, label: 'new', version: [3, 9, 0] }

function planned(backend: Backend, request: WireRequest): Plan {
  const query = backend.parse(request)
  assert.ok(query !== undefined && !isBypass(query), JSON.stringify(query))
  const plan = backend.plan(query, now, version)
  assert.ok(!('bypass' in plan), JSON.stringify(plan))
  return plan
}

const isBypass = (value: unknown): value is { bypass: string } =>
  typeof value === 'object' && value !== null && 'bypass' in value

const rewrite = (backend: Backend, plan: Plan, terms: Omit<RewriteTerms, 'policy'>): Plan =>
  rewritePlan(backend, plan, { terms: { policy, ...terms }, now })

/** The members in which two equal plans agree. */
const essence = ({ shape, grid, window, whole, edges }: Plan) => ({ shape, grid, window, whole, edges })

const allOf = ({ whole, edges }: Plan) =>
  [...whole, ...(edges?.buckets ?? [])].toSorted((a, b) => a.from - b.from)

/** The rewritten plan has the same query to the database as the plan of the other request. */
function assertSame(backend: Backend, rewritten: Plan, other: Plan): void {
  assert.deepEqual(essence(rewritten), essence(other))
  const [first] = allOf(other)
  const some = [{ from: first!.from, to: first!.from + 1 }]
  for (const intervals of allOf(other).length > 1 ? [some] : []) {
    assert.deepEqual(backend.narrow(rewritten, intervals).body, backend.narrow(other, intervals).body)
    assert.deepEqual(backend.narrow(rewritten, intervals).search, backend.narrow(other, intervals).search)
  }
}

const settings = { settledAgeMs: hour, maxBuckets: 11_001 }

const range = (start: EpochMs, end: EpochMs, step: number): WireRequest =>
  getRange(`query=sum_over_time(up[5m])&start=${start / 1000}&end=${end / 1000}&step=${step / 1000}`)

for (const backend of [prometheus(settings), victoriametrics(settings)] as readonly Backend[]) {
  test(`${backend.name}: align gives the plan of the request with start and end floored to the step`, () => {
    const times = fc.record({
      start: fc.integer({ min: now - 30 * hour, max: now }),
      lengthMs: fc.nat(2 * hour),
      step: fc.constantFrom(1_000, 14_000, 15_000, minute, hour),
    })
    let moved = 0
    fc.assert(
      fc.property(times, ({ start, lengthMs, step }) => {
        const floored = (instant: EpochMs) => Math.floor(instant / step) * step
        const own = planned(backend, range(start, start + lengthMs, step))
        const aligned = rewrite(backend, own, { align: true })
        assertSame(backend, aligned, planned(backend, range(floored(start), floored(start + lengthMs), step)))
        assert.equal(aligned.rewritten, start === floored(start) ? undefined : 'align')
        if (aligned.rewritten !== undefined) moved++
      }),
      { numRuns: 300, seed: 4 },
    )
    assert.ok(moved > 200)
  })
}

test('align is off by default, and concerns grids of points alone', () => {
  const backend = prometheus(settings) as Backend
  const own = planned(backend, range(now, now + hour, minute))
  assert.equal(rewrite(backend, own, {}), own)
  assert.equal(rewrite(backend, own, { align: false, edges: 'whole' }), own)
})

test('a range that would be too long when it is aligned is left alone', () => {
  const backend = prometheus(settings) as Backend
  const start = 60_000 * minute + 59_999
  const own = planned(backend, range(start, start + 11_000 * minute + 1, minute))
  assert.equal(rewrite(backend, own, { align: true }), own)
})

const broker = druid({ maxBuckets: 100_000 }) as unknown as Backend

const iso = (instant: EpochMs): string => new Date(instant).toISOString()
type Span = readonly [from: EpochMs, to: EpochMs]

interface Asked {
  readonly spans: readonly Span[]
  readonly granularity: unknown
}

function native({ spans, granularity }: Asked): WireRequest {
  const intervals = spans.map(([from, to]) => `${iso(from)}/${iso(to)}`)
  const query = { queryType: 'timeseries', dataSource: 'wiki', granularity, intervals, descending: true }
  return druidRequest('/druid/v2', query)
}

const druidRequest = (path: string, value: unknown): WireRequest => ({
  ...{ method: 'POST', path, search: '', headers: ['content-type', 'application/json'] },
  body: Buffer.from(JSON.stringify(value)),
})

function sql({ spans }: Asked, floor: string): WireRequest {
  const times = spans.map(
    ([from, to]) => `(__time >= MILLIS_TO_TIMESTAMP(${from}) AND __time < MILLIS_TO_TIMESTAMP(${to}))`,
  )
  const query = `SELECT ${floor} AS t, COUNT(*) AS n FROM wiki WHERE ${times.join(' OR ')} GROUP BY 1 ORDER BY 1`
  return druidRequest('/druid/v2/sql', { query })
}

/** Buckets without a grid of ours: the function returns where each begins. */
interface Buckets {
  readonly granularity: unknown
  readonly floor?: string
  begin(instant: EpochMs): EpochMs
  end(instant: EpochMs): EpochMs
}

const steady = (step: number, origin: number, rest: Pick<Buckets, 'granularity' | 'floor'>): Buckets => ({
  ...rest,
  begin: (instant) => Math.floor((instant - origin) / step) * step + origin,
  end: (instant) => Math.floor((instant - origin) / step + 1) * step + origin,
})

/** Days of Berlin: 23 hours long on 29 March 2026. */
const berlinDays: Buckets = {
  granularity: { type: 'period', period: 'P1D', timeZone: 'Europe/Berlin' },
  floor: `TIME_FLOOR(__time, 'P1D', NULL, 'Europe/Berlin')`,
  begin: (instant) => localMidnights.findLast((at) => at <= instant)!,
  end: (instant) => localMidnights.find((at) => at > instant)!,
}
const localMidnights = Array.from({ length: 200 }, (_, day) => {
  const midnight = Date.UTC(2026, 0, 1 + day)
  const isSummer = midnight >= Date.UTC(2026, 2, 29, 12)
  return midnight - (isSummer ? 2 : 1) * hour
})

const kinds: readonly Buckets[] = [
  steady(minute, 0, { granularity: 'minute', floor: 'FLOOR(__time TO MINUTE)' }),
  steady(hour, 0, { granularity: 'hour', floor: `TIME_FLOOR(__time, 'PT1H')` }),
  steady(7 * minute, 3 * minute, {
    granularity: { type: 'duration', duration: 7 * minute, origin: '1970-01-01T00:03:00Z' },
  }),
  berlinDays,
]

const spans = fc
  .uniqueArray(fc.integer({ min: Date.UTC(2026, 2, 20), max: Date.UTC(2026, 3, 10) }), {
    minLength: 2,
    maxLength: 6,
  })
  .map((ends) => {
    const sorted = ends.toSorted((a, b) => a - b)
    return Array.from(
      { length: Math.floor(sorted.length / 2) },
      (_, i): Span => [sorted[2 * i]!, sorted[2 * i + 1]!],
    )
  })

test('Druid: edges=whole gives the plan of the request for whole buckets, whatever its granularity', () => {
  let moved = 0
  for (const buckets of kinds) {
    const { granularity, floor } = buckets
    fc.assert(
      fc.property(spans, (asked) => {
        const whole = asked.map(([from, to]): Span => [buckets.begin(from), buckets.end(to - 1)])
        const requests = (of: readonly Span[]) => [
          native({ spans: of, granularity }),
          ...(floor === undefined ? [] : [sql({ spans: of, granularity }, floor)]),
        ]
        const [own, other] = [asked, whole].map(requests)
        for (const [i, request] of own!.entries()) {
          const rewritten = rewrite(broker, planned(broker, request), { edges: 'whole' })
          assertSame(broker, rewritten, planned(broker, other![i]!))
          assert.equal(rewritten.edges, undefined)
          if (rewritten.rewritten === 'edges=whole') moved++
        }
      }),
      { numRuns: 60, seed: 5 },
    )
  }
  assert.ok(moved > 300)
})

test('Druid: edges=now widens what ends at now, by the floor at its beginning and to the bucket at its end', () => {
  const live = (from: EpochMs, to: EpochMs) =>
    rewrite(broker, planned(broker, native({ spans: [[from, to]], granularity: 'minute' })), { edges: 'now' })
  const bucketEnd = Math.ceil(now / minute) * minute
  for (const behind of [0, 1, floorMs]) {
    const from = now - 3 * hour + 123
    const begin = Math.floor(from / floorMs) * floorMs
    const rewritten = live(from, now - behind)
    assert.equal(rewritten.rewritten, 'edges=now')
    assertSame(
      broker,
      rewritten,
      planned(broker, native({ spans: [[begin, bucketEnd]], granularity: 'minute' })),
    )
  }
  // Not beyond the bucket that the window begins in.
  const cut = Math.floor((now - hour) / minute) * minute + 1
  assert.equal(live(cut, now).edges, undefined)
  for (const behind of [-2, floorMs + 1, hour])
    assert.equal(live(now - 3 * hour, now - behind).rewritten, undefined)
})

test('edges=now knows no windows under a policy without a floor', () => {
  const plan = planned(broker, native({ spans: [[now - hour + 7, now]], granularity: 'minute' }))
  const terms: RewriteTerms = { edges: 'now', policy: { ...fixed(1000), ttl: () => 0 } }
  assert.equal(rewritePlan(broker, plan, { terms, now }), plan)
})

test('SQL without an end keeps it: what is to come stays an edge, and the beginning moves', () => {
  const open = (from: string) =>
    druidRequest('/druid/v2/sql', {
      query: `SELECT FLOOR(__time TO MINUTE) AS t, COUNT(*) AS n FROM wiki WHERE __time >= ${from} GROUP BY 1 ORDER BY 1`,
    })
  const own = planned(broker, open(`CURRENT_TIMESTAMP - INTERVAL '1' HOUR`))
  const from = now - hour
  for (const [edges, begin] of [
    ['whole', Math.floor(from / minute) * minute],
    ['now', Math.floor(from / floorMs) * floorMs],
  ] as const) {
    const rewritten = rewrite(broker, own, { edges })
    assert.equal(rewritten.rewritten, `edges=${edges}`)
    assert.deepEqual(essence(rewritten), essence(planned(broker, open(`MILLIS_TO_TIMESTAMP(${begin})`))))
    const body = Buffer.from(broker.narrow(rewritten, allOf(rewritten)).body).toString()
    assert.ok(!body.includes('__time <') && body.includes(`${begin}`), body)
  }
})

test('exact, and windows that are whole anyway, stay the client’s own', () => {
  const cut = planned(broker, native({ spans: [[now - hour, now]], granularity: 'minute' }))
  assert.equal(rewrite(broker, cut, { edges: 'exact' }), cut)
  assert.equal(rewrite(broker, cut, { align: true }), cut)
  const whole = native({ spans: [[0, hour]], granularity: 'minute' })
  const own = planned(broker, whole)
  assert.equal(rewrite(broker, own, { edges: 'whole' }), own)
})

test('a database that cannot lay a plan over other instants has no exceptions', () => {
  const own = planned(broker, native({ spans: [[now - hour, now]], granularity: 'minute' }))
  assert.equal(rewritePlan({}, own, { terms: { policy, edges: 'whole' }, now }), own)
})
