import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { type Pane, paneOf, slice } from '../../core/pane.ts'
import { atOnce, bodyOfCompressible, compressible, inTurns } from '../../core/pane-pack.ts'
import { diceOf, modelOf, paneOfFetch, randomFetch, unite } from '../../testing/pane-model.ts'
import { seededRandom, wholeNumber } from '../../testing/random.ts'
import { cutOut } from '../tile.ts'
import { coldBytes, cutCold, freeze, thaw, thawNow, zstd } from './cold.ts'

const interval = { from: 100, to: 340 }

/** Points as a database prints them. */
function points(value: (bucket: number, column: number) => string, columns = 20): Pane {
  const named = Array.from({ length: columns }, (_, column) => {
    const cells = new Map<number, string>()
    for (let bucket = interval.from; bucket < interval.to; bucket++)
      cells.set(bucket, `[${1_767_225_600 + 60 * bucket},"${value(bucket, column)}"],`)
    const head = `{"metric":{"__name__":"up","instance":"host-${column}"}`
    return [String(column).padStart(3, '0'), { head, lanes: [cells, new Map()] }] as const
  })
  return paneOfFetch({ interval, fetchedAt: 1, notes: [], columns: named })
}

const waves = (bucket: number, column: number): string => (50 + 50 * Math.sin(bucket / 9 + column)).toFixed(6)

test('a body is the same again, byte for byte, whatever is in it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 40, maxLength: 300, size: 'max' }), (bytes) => {
      const dice = diceOf(bytes)
      const from = dice(0, 50)
      const { body } = paneOfFetch(
        randomFetch(dice, { interval: { from, to: from + dice(1, 20) }, fetchedAt: 1 }),
      )
      const before = Buffer.from(body.bytes)
      const again = atOnce(bodyOfCompressible(atOnce(compressible(body)), body))
      assert.ok(again.bytes.equals(before))
      assert.ok(body.bytes.equals(before), 'the body itself was changed')
    }),
    { numRuns: 300 },
  )
})

test('a long body is worked on in pieces, with a turn for others between any two', async () => {
  const { body } = points(() => '1', 1500)
  let turns = 0
  const turn = async (): Promise<void> => void turns++
  const packable = await inTurns(compressible(body), turn)
  const again = await inTurns(bodyOfCompressible(packable, body), turn)
  assert.ok(again.bytes.equals(body.bytes))
  // Of 10 MB, of which 1.4 MB are offsets.
  assert.ok(turns > body.bytes.length / 2 ** 20, `${turns} turns`)
})

test('a body keeps its number and its origins: memoised values are found again', async () => {
  const { body } = points(waves)
  body.origins = [{ id: 1, from: 100, to: 120 }]
  const cold = (await freeze([paneOf(body)], zstd))!
  for (const [warm] of [thawNow(cold, zstd), await thaw(cold, zstd)])
    assert.deepEqual([warm!.body.id, warm!.body.origins], [body.id, body.origins])
})

test('panes are the same again, at once or off this thread, and a body that they share is kept once', async () => {
  const whole = points(waves)
  const panes = [slice(whole, { from: 100, to: 200 }), slice(whole, { from: 210, to: 340 })]
  const cold = await freeze(panes, zstd)
  assert.ok(cold !== undefined)
  assert.equal(new Set(cold.panes.map(({ body }) => body)).size, 1)
  for (const warm of [thawNow(cold, zstd), await thaw(cold, zstd)]) {
    assert.deepEqual(unite(warm.map(modelOf)), unite(panes.map(modelOf)))
    assert.equal(warm[0]!.body, warm[1]!.body)
    assert.ok(warm[0]!.body.bytes.equals(whole.body.bytes))
    assert.equal(warm[0]!.body.bytes.buffer.byteLength, whole.body.bytes.length)
  }
})

test('a point takes less than 12 bytes', async () => {
  const random = seededRandom(1)
  const counter = (bucket: number, column: number): string =>
    String(1e9 * (column + 1) + 1000 * bucket + wholeNumber(random, 0, 999))
  for (const value of [waves, counter]) {
    const pane = points(value)
    const cold = await freeze([pane], zstd)
    const each = coldBytes(cold!) / (20 * 240)
    assert.ok(each < 12, `${each} bytes`)
  }
})

test('a pane that does not become shorter stays uncompressed', async () => {
  const noise = points(() => randomBytes(200).toString('latin1'), 2)
  assert.equal(await freeze([noise], zstd), undefined)
})

test('an interval is cut out as it is of panes', async () => {
  const whole = points(waves)
  const panes = [slice(whole, { from: 100, to: 200 }), slice(points(waves, 3), { from: 210, to: 340 })]
  const cold = (await freeze(panes, zstd))!
  fc.assert(
    fc.property(fc.integer({ min: 80, max: 350 }), fc.nat(200), (from, length) => {
      const hole = { from, to: from + length }
      const runs = (of: readonly { from: number; to: number }[]) => of.map((run) => [run.from, run.to])
      const left = cutCold(cold, hole)
      assert.deepEqual(runs(left.panes), runs(length === 0 ? left.panes : cutOut(panes, hole)))
      assert.ok(left.length <= cold.length)
    }),
  )
  const rest = cutCold(cold, { from: 205, to: 400 })
  assert.ok(coldBytes(rest) < coldBytes(cold), 'an unneeded body is still counted')
  assert.deepEqual(modelOf(thawNow(rest, zstd)[0]!), modelOf(panes[0]!))
})
