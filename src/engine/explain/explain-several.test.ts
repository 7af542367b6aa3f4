/** Explanations of requests with several ranges, or with parts of buckets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs, type RigOptions } from '../../../test/rigs/engine-rig.ts'
import { type Range, RangesRig } from '../../../test/rigs/ranges-rig.ts'
import { mixSeeds, pick, seededRandom, wholeNumber } from '../../testing/random.ts'

/** Half a minute past midnight: the open cell, number 1440, is half over. */
async function newRig(options?: RigOptions): Promise<RangesRig> {
  const rig = new RangesRig(options)
  await rig.clock.advance(30_000)
  return rig
}

test('sentences distinguish whole and partial buckets', async () => {
  const rig = await newRig()
  const says = async (sentence: string, ...ranges: Range[]) =>
    assert.equal((await rig.explainRanges(ranges)).sentence, sentence)
  await says(
    'Miss: no bucket of 8 is fresh; 8 were never fetched, evicted or purged, and would be fetched, with parts of 2 others.',
    [10.5, 19.5],
  )
  await rig.askRanges([[10.5, 19.5]])
  await says(
    'Partial: all 8 whole buckets are fresh; 2 others, of which only parts are wanted, are not and would be fetched.',
    [10.5, 19.5],
  )
  await says(
    'Partial: the one whole bucket is fresh; 1 other, of which only a part is wanted, is not and would be fetched.',
    [11, 12.5],
  )
  await says(
    'Miss: only parts of 2 buckets are wanted; they are not fresh and would be fetched.',
    [11.5, 12.5],
  )
  await says('Miss: only a part of 1 bucket is wanted; it is not fresh and would be fetched.', [11.5, 11.75])
  await says(
    'Partial: 8 of 13 buckets are fresh; the last 5 were never fetched, evicted or purged, and would be fetched, with a part of 1 other.',
    [10.5, 24],
  )
  await says(
    'Partial: 7 of 17 buckets are fresh; the last 10 were never fetched, evicted or purged, and would be fetched.',
    [12, 19],
    [30, 40],
  )
  await says(
    'Partial: 8 of 13 buckets are fresh; 5 were never fetched, evicted or purged, and would be fetched.',
    [8, 20],
    [30, 31],
  )
})

test('a request that accepts only stored answers is refused for parts', async () => {
  const rig = await newRig()
  await rig.askRanges([[10.5, 19]])
  const explained = await rig.explainRanges([[10.5, 19]], { demands: { onlyIfCached: true } })
  assert.equal(
    explained.sentence,
    'Refused: the client accepts only a stored answer, and a bucket of which only a part is wanted is not fresh in that part.',
  )
  const other = await rig.explainRanges([[11, 20]], { demands: { onlyIfCached: true } })
  assert.equal(
    other.sentence,
    'Refused: the client accepts only a stored answer, and only 8 of 9 buckets are fresh.',
  )
})

test('figures count the buckets, not the time between them', async () => {
  const rig = await newRig()
  await rig.askRanges([[12, 14]])
  rig.database.lagMs = 1000
  void rig.askRanges([
    [16, 18],
    [30, 32],
  ])
  await rig.clock.advance(10)
  const { window, runs, edges, gap, joined, asked, ttls } = await rig.explainRanges([
    [10.5, 20],
    [30, 40.5],
  ])
  const inMinutes = ({ from, to, buckets }: { from: number; to: number; buckets: number }) =>
    `${(from - rig.start) / minuteMs}-${(to - rig.start) / minuteMs}: ${buckets}`
  assert.equal(inMinutes(window!), '10-41: 21')
  assert.deepEqual(runs!.map(inMinutes), ['11-12: 1', '12-14: 2', '14-20: 6', '30-40: 10'])
  assert.deepEqual(edges!.map(inMinutes), ['10-11: 1', '40-41: 1'])
  assert.equal(inMinutes(gap!), '10-41: 19')
  assert.deepEqual(joined!.map(inMinutes), ['16-32: 4'])
  assert.equal(inMinutes(asked!), '10-41: 15')
  assert.equal(
    asked!.search
      .match(/ranges=([^&]*)/)![1]!
      .split(/-|%2C/)
      .map((at) => (Number(at) - rig.start) / minuteMs)
      .join(' '),
    '10.5 12 14 16 18 20 32 40.5',
  )
  assert.equal(
    ttls!.reduce((sum, run) => sum + run.buckets, 0),
    13,
    'parts get no TTL',
  )
})

test('a plan without edges has none in its explanation', async () => {
  const rig = await newRig()
  assert.equal((await rig.explainRanges([[10, 12]])).edges, undefined)
})

/** The explanation equals the outcome. */
async function walk(seed: number): Promise<void> {
  const random = seededRandom(seed)
  const rig = await newRig({ patienceMs: { slow: 60_000, down: 60_000 }, refreshesAhead: false })
  const quarters = (max: number) => wholeNumber(random, 0, max) + pick(random, [0, 0, 0, 0.25, 0.5])
  for (let step = 0; step < 25; step++) {
    await rig.clock.advance(wholeNumber(random, 0, 3) * wholeNumber(random, 1, 40_000))
    rig.database.lagMs = random() < 0.3 ? 3000 : 0
    const from = 1400 - quarters(80)
    const first: Range = [from, from + quarters(30) + 0.5]
    const second: Range = [first[1] + quarters(20) + 0.25, first[1] + 21 + quarters(20)]
    const ranges = random() < 0.5 ? [first] : [first, second]
    const told = await rig.explainRanges(ranges)
    assert.deepEqual(await rig.explainRanges(ranges), told, 'explaining changes nothing')
    rig.asked()
    const asking = rig.askRanges(ranges)
    if (random() < 0.3) await rig.clock.advance(0)
    else await rig.clock.advance(6000)
    const sent = rig.database.asked.map((query) => [query.cells, query.ranges])
    const search = new URLSearchParams(told.asked?.search)
    const expected = told.asked === undefined ? [] : [[told.asked.buckets, search.get('ranges')]]
    assert.deepEqual(sent, expected, `seed ${seed}`)
    if (random() < 0.3) continue
    await rig.clock.advance(6000)
    const { outcome, reason, asked, buckets } = (await asking).decision
    assert.deepEqual(
      [outcome, reason, asked ?? 0, buckets],
      [told.outcome, told.reason, told.asked?.buckets ?? 0, told.window!.buckets],
      `seed ${seed}`,
    )
  }
}

test('the explanation equals the outcome', async () => {
  for (let i = 0; i < 60; i++) await walk(mixSeeds(4712, i))
})
