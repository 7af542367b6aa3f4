/** Which requests share a query, with several gaps and with parts of buckets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AskOptions, minuteMs, type RigOptions, type Served } from '../../test/rigs/engine-rig.ts'
import { type Range, RangesRig } from '../../test/rigs/ranges-rig.ts'

const lagMs = 100

/** Half a minute past midnight, in front of a slow database. */
async function newRig(options?: RigOptions): Promise<RangesRig> {
  const rig = new RangesRig(options)
  await rig.clock.advance(30_000)
  rig.database.lagMs = lagMs
  return rig
}

interface Asking {
  readonly ranges: readonly Range[]
  readonly served: Promise<Served>
}

const ask = (rig: RangesRig, ranges: readonly Range[], how?: AskOptions): Asking => ({
  ranges,
  served: rig.askRanges(ranges, how),
})

/** Sends a request, and returns when the database has been queried. */
async function begin(rig: RangesRig, ranges: readonly Range[], how?: AskOptions): Promise<Asking> {
  const asking = ask(rig, ranges, how)
  await rig.clock.advance(0)
  return asking
}

async function allTrue(rig: RangesRig, ...all: readonly Asking[]): Promise<void> {
  await rig.clock.advance(10 * lagMs)
  for (const { ranges, served } of all) assert.equal((await served).text, rig.truthRanges(ranges))
}

test('any number of equal requests with edges cause one query', async () => {
  const rig = await newRig()
  const ranges: Range[] = [[10.5, 19.5]]
  await allTrue(rig, ...Array.from({ length: 20 }, () => ask(rig, ranges)))
  assert.deepEqual(rig.asked(), ['10.5-19.5'])
  await allTrue(rig, ...Array.from({ length: 20 }, () => ask(rig, ranges)))
  assert.deepEqual(rig.asked(), ['10.5-11 19-19.5'])
})

test('a request with other edges shares the whole buckets and fetches the edges, once for all equal requests', async () => {
  const rig = await newRig()
  const [first, second]: Range[][] = [[[10.5, 19.5]], [[10.25, 19.75]]]
  const asking = [first!, second!, second!, first!, second!].map((ranges) => ask(rig, ranges))
  await allTrue(rig, ...asking)
  // Parts of buckets need no claim, so that they may be fetched first.
  assert.deepEqual(rig.asked().sort(), ['10.25-11 19-19.75', '10.5-19.5'])
  const decisions = await Promise.all(asking.map(async ({ served }) => (await served).decision))
  // Which of equal requests sends the query depends on whose lookup is over first.
  assert.deepEqual(
    decisions.map(({ asked, collapsed }) => [asked, collapsed]).sort(([a], [b]) => Number(b) - Number(a)),
    [
      [10, false],
      [2, true],
      [0, true],
      [0, true],
      [0, true],
    ],
  )
  assert.deepEqual([...(await rig.stored()).keys()], [11, 12, 13, 14, 15, 16, 17, 18])
})

test('a part that a flight brings is not taken for the whole, nor the whole for a part', async () => {
  const rig = await newRig()
  const [part, whole]: Range[][] = [[[10.5, 19.5]], [[10, 20]]]
  const one = await begin(rig, part!)
  const other = await begin(rig, whole!)
  await allTrue(rig, one, other)
  assert.deepEqual(rig.asked(), ['10.5-19.5', '10-11 19-20'])
  const later = await begin(rig, [[30, 40]])
  const within = await begin(rig, [[32.5, 38.5]])
  await allTrue(rig, later, within)
  assert.deepEqual(rig.asked(), ['30-40', '32.5-33 38-38.5'])
})

test('several gaps: buckets that a flight brings from the middle of them are not fetched again', async () => {
  const rig = await newRig()
  const middle: Range[] = [
    [12, 14],
    [16, 18],
  ]
  const one = await begin(rig, middle)
  const other = await begin(rig, [[10, 20]])
  await allTrue(rig, one, other)
  assert.deepEqual(rig.asked(), ['12-14 16-18', '10-12 14-16 18-20'])
})

/** A client that can go. */
function leavingClient() {
  const callbacks: (() => void)[] = []
  const client = { isGone: false, onGone: (callback: () => void) => void callbacks.push(callback) }
  return {
    client,
    leave() {
      client.isGone = true
      for (const callback of callbacks) callback()
    },
  }
}

test('the leader disconnects: the query goes on for requests that share its whole buckets, and ends with the last', async () => {
  const rig = await newRig()
  const first = leavingClient()
  const second = leavingClient()
  await begin(rig, [[10.5, 19.5]], { client: first.client })
  const other = await begin(rig, [[10.25, 19.5]], { client: second.client })
  first.leave()
  await allTrue(rig, other)
  assert.deepEqual([rig.database.cancelled, rig.asked()], [0, ['10.5-19.5', '10.25-11 19-19.5']])
  const third = leavingClient()
  await begin(rig, [[30.5, 39.5]], { client: third.client })
  third.leave()
  await rig.clock.advance(lagMs)
  assert.deepEqual([rig.database.cancelled, (await rig.stored()).has(35)], [1, false])
})

test('a mark during the flight: a later request fetches anew, edges included, and no earlier data is stored', async () => {
  const rig = await newRig()
  const ranges: Range[] = [[10.5, 19.5]]
  const before = await begin(rig, ranges)
  await rig.clock.advance(10)
  await rig.purge.run({ source: 'up' })
  await rig.clock.advance(1)
  const after = await begin(rig, ranges)
  await allTrue(rig, before, after)
  assert.deepEqual(rig.asked(), ['10.5-19.5', '10.5-19.5'])
  assert.equal((await before.served).decision.stored, false)
  assert.equal((await after.served).decision.stored, true)
})

test('no-cache does not join a flight that began before it, edges included', async () => {
  const rig = await newRig()
  const ranges: Range[] = [[10.5, 19.5]]
  const before = await begin(rig, ranges)
  await rig.clock.advance(10)
  const demanding = await begin(rig, ranges, { demands: { notBefore: rig.clock.now() } })
  const also = await begin(rig, ranges, { demands: { notBefore: rig.clock.now() } })
  await allTrue(rig, before, demanding, also)
  assert.deepEqual(rig.asked(), ['10.5-19.5', '10.5-19.5'])
  const again = await begin(rig, ranges, { demands: { notBefore: rig.clock.now() } })
  await allTrue(rig, again)
  assert.equal((await again.served).decision.reason, 'revalidate')
})

test('without coalescing every request sends a query, and every answer is true', async () => {
  const rig = await newRig({ coalescing: false })
  const ranges: Range[] = [[10.5, 19.5]]
  const one = await begin(rig, ranges)
  const other = await begin(rig, ranges)
  await allTrue(rig, one, other)
  assert.deepEqual(rig.asked(), ['10.5-19.5', '10.5-19.5'])
})

const quarters = (max: number) => fc.nat(4 * max).map((quarter) => quarter / 4)
const crowd = fc.array(
  fc.record({
    waitMs: fc.constantFrom(0, 0, 30, 70, 100),
    from: quarters(12),
    lengths: fc.array(fc.tuple(quarters(8), quarters(3)), { minLength: 1, maxLength: 3 }),
    isLeaving: fc.boolean(),
  }),
  { minLength: 2, maxLength: 15 },
)

test('random requests and disconnects: true answers, one query each at most, no part in the store', async () => {
  let collapsed = 0
  await fc.assert(
    fc.asyncProperty(crowd, async (requests) => {
      const rig = await newRig()
      const all: Asking[] = []
      for (const { waitMs, from, lengths, isLeaving } of requests) {
        await rig.clock.advance(waitMs)
        const ranges: Range[] = []
        let begin = from
        for (const [length, hole] of lengths) {
          ranges.push([begin, begin + length + 0.25])
          begin += length + hole + 0.5
        }
        const leaving = leavingClient()
        const asking = ask(rig, ranges, isLeaving ? { client: leaving.client } : {})
        if (isLeaving) rig.clock.after(50, leaving.leave)
        else all.push(asking)
      }
      await allTrue(rig, ...all)
      for (const { served } of all) if ((await served).decision.collapsed) collapsed++
      assert.ok(rig.asked().length <= requests.length)
      for (const [minute, row] of await rig.stored()) {
        const start = rig.start + minute * minuteMs
        assert.equal(row, `[${start},${(start / 1000) % 9973}],`)
      }
    }),
    { numRuns: 150 },
  )
  assert.ok(collapsed > 50)
})
