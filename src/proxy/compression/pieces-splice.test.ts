import assert from 'node:assert/strict'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { printMatrix } from '../../../test/rigs/matrix.ts'
import type { Recomposed } from '../../backends/backend.ts'
import { MatrixSink } from '../../backends/matrix/decompose.ts'
import { recompose } from '../../backends/matrix/recompose.ts'
import { gridThrough } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { type Pane, type PaneBody, slice } from '../../core/pane.ts'
import { pieces as cutUp } from '../../testing/mutations.ts'
import { mixSeeds, seededRandom, wholeNumber } from '../../testing/random.ts'
import { type Block, blocksInside, gather, makeBlocks } from './pieces-block.ts'
import { type BlocksOf, splice, spliceRoom } from './pieces-splice.ts'

const grid = gridThrough('point', 15_000, 0)

function fetched(text: Buffer, interval: Interval): Pane {
  const sink = new MatrixSink(grid, interval)
  sink.write(text)
  const result = sink.end(1)
  assert.ok('panes' in result, JSON.stringify(result))
  return result.panes[0]!
}

/** All blocks of the bodies, except the blocks for which `isLost` is true. */
function blocksOfAll(panes: readonly Pane[], isLost: () => boolean = () => false): BlocksOf {
  const made = new Map<PaneBody, { first: number; blocks: (Block | undefined)[] }>()
  for (const { body } of panes) {
    const inside = blocksInside({ from: body.from, to: body.from + body.buckets })
    if (inside.from >= inside.to) continue
    const blocks = makeBlocks(gather(body, inside)).map((block) => (isLost() ? undefined : block))
    made.set(body, { first: inside.from, blocks })
  }
  return (body) => made.get(body)
}

function written(answer: Recomposed): Buffer {
  const target = Buffer.alloc(answer.length)
  answer.write(target)
  return target
}

function spliced(
  answer: Recomposed,
  blocksOf: BlocksOf,
  room = 2 * answer.length + 1024,
): Buffer | undefined {
  const target = Buffer.alloc(room, 0xee)
  const end = splice(answer, blocksOf, target)
  assert.ok(end <= room)
  return end === 0 ? undefined : target.subarray(0, end)
}

test('any answer and panes: unpacked it equals the written bytes', () => {
  let count = 0
  for (let world = 1; world <= 120; world++) {
    const random = seededRandom(mixSeeds(world, 11))
    const from = wholeNumber(random, 0, 1000)
    const whole = { from, to: from + wholeNumber(random, 200, 1000) }
    const panes = cutUp(random, whole).map((part) => fetched(printMatrix(world, grid, part), part))
    const blocksOf = blocksOfAll(panes, () => random() < 0.02)
    for (let round = 0; round < 8; round++) {
      const start = wholeNumber(random, whole.from, whole.to - 1)
      const window = round === 0 ? whole : { from: start, to: wholeNumber(random, start + 1, whole.to) }
      const parts = panes.map((pane) => slice(pane, window)).filter((part) => part.from < part.to)
      const answer = recompose(parts, { warnings: round === 1 ? ['one of our own'] : [] })
      const packed = spliced(answer, blocksOf)
      if (packed === undefined) continue
      count++
      assert.ok(gunzipSync(packed).equals(written(answer)), `world ${world}, round ${round}`)
    }
  }
  assert.ok(count > 150, `only ${count} answers were put together`)
})

const steady = { from: 960, to: 1600 }

/** Ten series that have a point in every bucket. */
function steadyPane(): Pane {
  const rows = Array.from({ length: 10 }, (_, row) => {
    const points: string[] = []
    for (let bucket = steady.from; bucket < steady.to; bucket++)
      points.push(`[${bucket * 15},"${mixSeeds(row, bucket)}"]`)
    return `{"metric":{"row":"${row}"},"values":[${points.join(',')}]}`
  })
  const text = `{"status":"success","data":{"resultType":"matrix","result":[${rows.join(',')}]}}`
  return fetched(Buffer.from(text), steady)
}

test('without pieces, or with too few of them, nothing is put together', () => {
  const pane = steadyPane()
  const answer = recompose([pane])
  assert.equal(
    spliced(answer, () => undefined),
    undefined,
  )
  let number = 0
  assert.equal(
    spliced(
      answer,
      blocksOfAll([pane], () => number++ % 3 === 0),
    ),
    undefined,
  )
  number = 0
  assert.ok(
    spliced(
      answer,
      blocksOfAll([pane], () => number++ % 6 === 1),
    ),
  )
})

test('an answer without a walk is not assembled', () => {
  const { length, write } = recompose([steadyPane()])
  assert.equal(
    spliced({ length, write }, () => undefined),
    undefined,
  )
})

test('nothing is written past the end of the room, whatever its length', () => {
  const pane = steadyPane()
  const answer = recompose([slice(pane, { from: steady.from + 7, to: steady.to - 7 })])
  const blocksOf = blocksOfAll([pane])
  const needed = spliced(answer, blocksOf)!.length
  assert.ok(needed < spliceRoom(answer.length))
  assert.equal(spliced(answer, blocksOf, needed)?.length, needed)
  for (let room = 10; room < needed; room += 97) assert.equal(spliced(answer, blocksOf, room), undefined)
  assert.equal(spliced(answer, blocksOf, needed - 1), undefined)
})

for (const length of [65_534, 65_535, 65_536, 131_070, 150_000]) {
  test(`${length} bytes in a row that no piece covers`, () => {
    const pane = steadyPane()
    const filler = Buffer.alloc(length, 'between the pieces')
    const run = { body: pane.body, column: 3, lane: 0, ...steady, end: pane.body.offsetOf(3, 0, steady.to) }
    const raw = pane.body.bytes.subarray(
      pane.body.slabAt + pane.body.offsetOf(3, 0, steady.from),
      pane.body.slabAt + run.end,
    )
    const times = Math.ceil((4 * length) / raw.length)
    const parts = [raw, filler, ...Array.from({ length: times }, () => raw)]
    const whole = Buffer.concat(parts)
    const answer: Recomposed = {
      length: whole.length,
      write: (target) => target.set(whole),
      walk(listener) {
        for (const part of parts) {
          if (part === raw) listener.run(run)
          // In bits and pieces, as heads and separators come.
          else for (const [from, to] of halves(length)) listener.literal(filler, from, to)
        }
      },
    }
    assert.ok(gunzipSync(spliced(answer, blocksOfAll([pane]))!).equals(whole))
  })
}

const halves = (length: number): [number, number][] => [
  [0, 1],
  [1, length >> 1],
  [length >> 1, length],
]
