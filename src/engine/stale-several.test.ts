/** Stale serving in an outage, with requests for several ranges, or for parts of buckets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs, type RigOptions, type Served } from '../../test/rigs/engine-rig.ts'
import { type Range, RangesRig } from '../../test/rigs/ranges-rig.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { fakeClock } from '../testing/fake-clock.ts'

const down = { reason: 'database_unreachable', detail: 'connect ECONNREFUSED' } as const

/** Half a minute past midnight: the open cell, number 1440, is half over. */
async function newRig(options: RigOptions = {}): Promise<RangesRig> {
  const rig = new RangesRig({ maxStaleMs: 10 * minuteMs, patienceMs: { slow: 2000, down: 500 }, ...options })
  await rig.clock.advance(30_000)
  return rig
}

interface Rows {
  readonly rows: readonly (readonly [number, number])[]
  readonly warnings?: readonly string[]
}
const read = (text: string): Rows => JSON.parse(text) as Rows

/** The served ranges equal the database's response, and the missing ranges are reported in both places. */
function serves(rig: RangesRig, { decision, text }: Served, ranges: readonly Range[]): void {
  assert.equal(decision.outcome, 'stale')
  assert.deepEqual(read(text).rows, read(rig.truthRanges(ranges)).rows)
  const [warning] = read(text).warnings ?? []
  const said = decision.missing === undefined ? '' : `, and nothing is known of ${decision.missing}`
  assert.equal(warning, `windowpane: the database does not answer; this answer is stale${said}`)
}

const minuteOf = (rig: RangesRig, minute: number) => new Date(rig.start + minute * minuteMs).toISOString()

test('a head edge is left out, and reported as missing', async () => {
  const rig = await newRig()
  await rig.askRanges([[1430.5, 1440]])
  rig.database.failure = down
  const served = await rig.askRanges([[1430.5, 1440]])
  serves(rig, served, [[1431, 1440]])
  const { missing, missingBuckets, known, buckets } = served.decision
  assert.equal(missing, `${minuteOf(rig, 1430)}/${minuteOf(rig, 1430)}`)
  assert.deepEqual([missingBuckets, buckets], [1, 10])
  const first = rig.start / minuteMs
  assert.deepEqual(known, { from: first + 1431, to: first + 1440 })
})

test('both edges are left out: the answer begins later and ends earlier', async () => {
  const rig = await newRig()
  await rig.askRanges([[1430.5, 1439.5]])
  rig.database.failure = down
  const served = await rig.askRanges([[1430.25, 1439.25]])
  serves(rig, served, [[1431, 1439]])
  const head = `${minuteOf(rig, 1430)}/${minuteOf(rig, 1430)}`
  assert.equal(served.decision.missing, `${head},${minuteOf(rig, 1439)}/${minuteOf(rig, 1439)}`)
  assert.equal(served.decision.missingBuckets, 2)
})

test('a tail edge of long ago is no reason to serve nothing', async () => {
  const rig = await newRig()
  await rig.askRanges([[10, 20.5]])
  rig.database.failure = down
  const served = await rig.askRanges([[10, 20.5]])
  serves(rig, served, [[10, 20]])
  assert.equal(served.decision.missing, `${minuteOf(rig, 20)}/${minuteOf(rig, 20)}`)
})

test('several ranges are served up to the first bucket that is not known', async () => {
  const rig = await newRig()
  await rig.askRanges([
    [10, 20],
    [1420, 1440],
  ])
  rig.database.failure = down
  await rig.clock.advance(3 * minuteMs)
  const all: Range[] = [
    [10, 20],
    [1420, 1443],
  ]
  const served = await rig.askRanges(all)
  serves(rig, served, [
    [10, 20],
    [1420, 1440],
  ])
  assert.equal(served.decision.missing, `${minuteOf(rig, 1440)}/${minuteOf(rig, 1442)}`)
  // A range that was never requested is not missing because of the outage.
  const more = await rig.askRanges([
    [10, 20],
    [30, 40],
  ])
  assert.equal(more.answer.kind, 'failure')
})

test('a head edge does not cost the ranges behind the first one, an edge between them does', async () => {
  const rig = await newRig()
  await rig.askRanges([
    [10, 20],
    [1430, 1440],
  ])
  rig.database.failure = down
  const head = await rig.askRanges([
    [10.5, 20],
    [1430, 1440],
  ])
  serves(rig, head, [
    [11, 20],
    [1430, 1440],
  ])
  assert.equal(head.decision.missing, `${minuteOf(rig, 10)}/${minuteOf(rig, 10)}`)
  const between = await rig.askRanges([
    [10, 19.5],
    [1430, 1440],
  ])
  serves(rig, between, [[10, 19]])
  assert.equal(between.decision.missing, `${minuteOf(rig, 19)}/${minuteOf(rig, 1439)}`)
  assert.equal(between.decision.missingBuckets, 11)
})

test('nothing but parts: the failure is returned', async () => {
  const rig = await newRig()
  await rig.askRanges([[1430, 1440]])
  rig.database.failure = down
  assert.equal((await rig.askRanges([[1435.25, 1435.5]])).answer.kind, 'failure')
})

test('a slow database: the whole buckets after the patience, fresh as they are', async () => {
  const rig = await newRig()
  await rig.askRanges([[1400.5, 1420]])
  rig.database.lagMs = 4000
  let served: Served | undefined
  void rig.askRanges([[1400.5, 1420]]).then((late) => {
    served = late
  })
  await rig.clock.advance(2000)
  assert.ok(served !== undefined)
  assert.deepEqual(
    [served.decision.outcome, served.decision.reason, `${served.decision.ttlSeconds}`],
    ['stale', 'database_slow', '0'],
  )
  assert.deepEqual(read(served.text).rows, read(rig.truthRanges([[1401, 1420]])).rows)
})

/** A store forgets nothing here; only empty unsettled buckets are never stored. */
test('buckets that were never fetched are not taken for empty', async () => {
  // No data since 1432.
  const rig: RangesRig = await newRig({
    trailingEmpty: 'off',
    valueAt: (start) => ((start - rig.start) / minuteMs < 1432 ? 1 : undefined),
  })
  await rig.askRanges([
    [10, 20],
    [1436, 1440],
  ])
  rig.database.failure = down
  const known = await rig.askRanges([[1436, 1440]])
  serves(rig, known, [[1436, 1440]])
  const first = await rig.askRanges([[1430, 1440]])
  assert.equal(first.answer.kind, 'failure', 'of 1430 there is data')
  const later = await rig.askRanges([
    [10, 20],
    [1430, 1440],
  ])
  serves(rig, later, [[10, 20]])
  assert.equal(later.decision.missing, `${minuteOf(rig, 1430)}/${minuteOf(rig, 1439)}`)
})

test('a fetch of edges gives no information about the buckets between them', async () => {
  const rig: RangesRig = await newRig({
    valueAt: (start) => ((start - rig.start) / minuteMs < 1432 ? 1 : undefined),
  })
  await rig.askRanges([[1420, 1430]])
  // The bucket before the tail edge is fetched by a query that fails, the edges by one that does not.
  rig.database.lagMs = 100
  const whole = rig.askRanges([[1420, 1434]])
  await rig.clock.advance(1)
  const edges = rig.askRanges([[1420.5, 1434.5]])
  await rig.clock.advance(98)
  rig.database.failure = down
  await rig.clock.advance(1)
  rig.database.failure = undefined
  await rig.clock.advance(100)
  await Promise.all([whole, edges])
  rig.database.failure = down
  rig.database.lagMs = 0
  const served = await rig.askRanges([[1420, 1434]])
  serves(rig, served, [[1420, 1430]])
  assert.equal(served.decision.missing, `${minuteOf(rig, 1430)}/${minuteOf(rig, 1433)}`)
})

const stores: Readonly<Record<string, () => RigOptions>> = {
  'in memory': () => ({}),
  'in a store that answers later, without memory in front of it': () => {
    const clock = fakeClock()
    return { clock, wrap: (store) => asynchronous(store, { clock }) }
  },
}

for (const [name, options] of Object.entries(stores))
  test(`empty ends of several fetches are known side by side, ${name}`, async () => {
    const rig: RangesRig = await newRig({
      ...options(),
      trailingEmpty: 'off',
      valueAt: (start) => ((start - rig.start) / minuteMs < 1432 ? 1 : undefined),
    })
    await rig.askRanges([[1420, 1438]])
    await rig.clock.advance(1000)
    await rig.askRanges([[1436, 1440]])
    rig.database.failure = down
    const served = await rig.askRanges([[1420, 1440]])
    serves(rig, served, [[1420, 1440]])
    assert.equal(served.decision.missing, undefined)
    assert.equal(served.decision.ageSeconds, 1)
  })

test('a backend that throws over a stale answer fails this request alone', async () => {
  const rig = await newRig()
  await rig.askRanges([[1430, 1440]])
  rig.database.lagMs = 60_000
  await rig.clock.advance(3 * minuteMs)
  const faulty = {
    ...rig.planRanges([[1430, 1443]]),
    get limit(): number {
      throw new Error('a fault of the backend')
    },
  }
  const failing = assert.rejects(rig.serve(faulty), /a fault of the backend/)
  await rig.clock.advance(2 * minuteMs)
  await failing
})
