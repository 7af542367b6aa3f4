/** Shadow mode with requests for several ranges, or for parts of buckets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs, type Served } from '../../../test/rigs/engine-rig.ts'
import { type Range, RangesRig } from '../../../test/rigs/ranges-rig.ts'

/** Half a minute past midnight: the open cell, number 1440, is half over. */
async function newRig(): Promise<RangesRig> {
  const rig = new RangesRig()
  await rig.clock.advance(30_000)
  return rig
}

async function shadows(rig: RangesRig, ...ranges: Range[]): Promise<Served> {
  const served = await rig.shadowRanges(ranges)
  assert.equal(served.text, rig.truthRanges(ranges))
  assert.deepEqual([served.answer.kind, served.decision.reason], ['streamed', 'shadow'])
  return served
}

/** Another value for a whole cell from now on; undefined: as before. */
function change(rig: RangesRig, minute: number, value: string | undefined): void {
  const { truthOf } = Object.getPrototypeOf(rig.database) as typeof rig.database
  const row = new RegExp(`\\[${rig.start + minute * minuteMs},\\d+\\]`)
  rig.database.truthOf = (spans, how) => {
    const truth = truthOf.call(rig.database, spans, how)
    return value === undefined ? truth : truth.replace(row, `[${rig.start + minute * minuteMs},${value}]`)
  }
}

test('several ranges and edges: the database’s own answer, and the gaps are stored, parts are not', async () => {
  const rig = await newRig()
  const ranges: Range[] = [
    [10.5, 20],
    [100, 110.5],
  ]
  assert.equal((await shadows(rig, ...ranges)).decision.detail, 'would be miss')
  assert.equal((await rig.stored()).size, 19)
  assert.equal((await shadows(rig, ...ranges)).decision.detail, 'would be partial')
  assert.equal((await shadows(rig, [11, 20], [100, 110])).decision.detail, 'would be hit')
  assert.equal((await shadows(rig, [10.25, 11.75])).decision.detail, 'would be miss')
  assert.deepEqual(rig.asked(), ['10.5-20 100-110.5', '10.5-20 100-110.5', '11-20 100-110', '10.25-11.75'])
  const { comparisons, equal } = rig.shadowLog.report('cells')
  assert.deepEqual([comparisons, equal], [4, 4])
  const served = await rig.askRanges([
    [11, 20],
    [100, 110],
  ])
  assert.equal(served.decision.outcome, 'hit')
})

test('a whole bucket that changed is found, in whichever range it lies, and not changes in an edge', async () => {
  const rig = await newRig()
  await shadows(rig, [10, 20], [100, 110])
  change(rig, 105, '7')
  await rig.shadowRanges([
    [9.5, 20],
    [100, 110.5],
  ])
  const { figures, mismatches } = inspect(rig)
  assert.deepEqual(figures, [2, 1, 1])
  assert.equal(mismatches[0]!.cause, 'settled_change')
  // The changed cell is an edge now: the database returns the same either way.
  await rig.shadowRanges([[100, 105.5]])
  assert.deepEqual(inspect(rig).figures, [3, 2, 1])
})

function inspect(rig: RangesRig) {
  const { comparisons, equal, explained, mismatches } = rig.shadowLog.report('cells')
  return { figures: [comparisons, equal, explained], mismatches }
}

test('a request for a part meanwhile does not erase the record of the whole', async () => {
  const rig = await newRig()
  await shadows(rig, [10, 20])
  await rig.clock.advance(1000)
  await shadows(rig, [10.5, 20])
  // The database alternates between two values for the same settled bucket.
  for (const value of ['7', undefined, '7']) {
    await rig.clock.advance(1000)
    change(rig, 10, value)
    await rig.shadowRanges([[10, 20]])
  }
  assert.deepEqual(
    inspect(rig).mismatches.map(({ cause }) => cause),
    ['not_deterministic', 'settled_change'],
  )
})

test('an answer that cannot be cut into buckets is forwarded, and no query is sent here', async () => {
  const rig = await newRig()
  const { answer } = await rig.shadowPlan(rig.planRanges([[10, 20]], '&limit=3'))
  assert.deepEqual(answer, { kind: 'forward', reason: 'shadow' })
  assert.deepEqual(rig.shadowLog.report('cells').skipped, { not_verbatim: 1 })
  assert.deepEqual(rig.asked(), [])
  assert.equal((await rig.stored()).size, 0)
})

test('a request that accepts only stored answers is not compared where it has parts', async () => {
  const rig = await newRig()
  await shadows(rig, [10.5, 20])
  const { text } = await rig.shadowRanges([[10.5, 20]], { demands: { onlyIfCached: true } })
  assert.equal(text, rig.truthRanges([[10.5, 20]]))
  assert.equal(rig.shadowLog.report('cells').comparisons, 1)
})
