import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { printRows, type RowWorld, rowStyles, rowsIn } from '../../../test/rigs/druid-rows.ts'
import { gridThrough } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { type Pane, slice } from '../../core/pane.ts'
import { blocksInside, gather, makeBlocks } from '../../proxy/compression/pieces-block.ts'
import { splice } from '../../proxy/compression/pieces-splice.ts'
import { pieces } from '../../testing/mutations.ts'
import { mixSeeds, seededRandom, wholeNumber } from '../../testing/random.ts'
import type { Recomposed, Run } from '../backend.ts'
import { RowSink } from './decompose.ts'
import { recompose } from './recompose.ts'

const grid = gridThrough('cell', 60_000, 0)
const window = { from: 1000, to: 1012 }

function fetched(on: RowWorld, interval: Interval): Pane {
  const sink = new RowSink({ format: on.style.format, ...on }, [interval])
  sink.write(printRows(on.style, rowsIn(on, [interval])))
  const result = sink.end(5, { headers: [], trailers: [] })
  assert.ok('panes' in result, JSON.stringify(result))
  return result.panes[0]!
}

function answerOf(
  { style, isDescending }: RowWorld,
  panes: readonly Pane[],
  limit = Number.POSITIVE_INFINITY,
) {
  return recompose({ format: style.format, isDescending, limit }, panes)
}

/** The written bytes, into clean memory and into dirty, with nothing behind the end. */
function written(answer: Recomposed): Buffer {
  const [clean, dirty] = [0, 0xff].map((filling) => {
    const target = Buffer.alloc(answer.length + 16, filling)
    answer.write(target)
    assert.ok(target.subarray(answer.length).every((byte) => byte === filling))
    return target.subarray(0, answer.length)
  })
  assert.ok(clean!.equals(dirty!), 'not every byte was written')
  return clean!
}

function walked(answer: Recomposed): Buffer {
  const parts: Buffer[] = []
  const literal = (bytes: Uint8Array, start: number, end: number) => {
    assert.ok(start <= end)
    parts.push(Buffer.from(bytes.subarray(start, end)))
  }
  const run = ({ body, column, lane, from, to, end }: Run) => {
    const stop = body.offsetOf(column, lane, to)
    assert.ok(from < to && (end === stop || end === stop - 1))
    literal(body.bytes, body.slabAt + body.offsetOf(column, lane, from), body.slabAt + end)
  }
  answer.walk!({ literal, run })
  return Buffer.concat(parts)
}

const worlds = (check: (on: RowWorld) => void) =>
  fc.assert(
    fc.property(
      fc.constantFrom(...rowStyles),
      fc.nat(),
      fc.boolean(),
      (style, world, isDescending) => void check({ style, world, grid, isDescending }),
    ),
    { numRuns: 500 },
  )

test('walked bytes, and bytes in place, equal the written bytes, from any panes', () => {
  let viewed = 0
  worlds((on) => {
    const random = seededRandom(mixSeeds(on.world, 3))
    const panes = pieces(random, window).map((part) => fetched(on, part))
    const answer = answerOf(on, panes)
    assert.equal(written(answer).toString(), printRows(on.style, rowsIn(on, [window])).toString())
    assert.ok(walked(answer).equals(written(answer)))
    const views = answer.views!()
    if (views === undefined) return
    viewed++
    assert.ok(views.every(({ length }) => length > 0) && views.length <= 11)
    assert.ok(Buffer.concat(views).equals(written(answer)))
  })
  assert.ok(viewed > 100, `${viewed} of 500 answers can be sent from where they lie`)
})

test('an answer that is cut inside a bucket, or made of many panes, is not sent in place', () => {
  const on = { style: rowStyles[0]!, world: 1, grid, isDescending: false }
  const whole = fetched(on, window)
  assert.equal(answerOf(on, [whole]).views!()?.length, 3)
  assert.equal(answerOf(on, [whole], 3).views!(), undefined)
  const single = (from: number) => slice(whole, { from, to: from + 1 })
  assert.equal(
    answerOf(
      on,
      Array.from({ length: 9 }, (_, i) => single(window.from + i)),
    ).views!(),
    undefined,
  )
})

test('a limit leaves the first rows, wherever it falls', () => {
  worlds((on) => {
    const random = seededRandom(mixSeeds(on.world, 4))
    const panes = pieces(random, window).map((part) => fetched(on, part))
    const rows = rowsIn(on, [window])
    for (const limit of [0, 1, 2, wholeNumber(random, 0, rows.length), rows.length, rows.length + 1]) {
      const answer = answerOf(on, panes, limit)
      const expected = printRows(on.style, rows.slice(0, limit)).toString()
      assert.equal(written(answer).toString(), expected, `limit ${limit}`)
      assert.equal(walked(answer).toString(), expected, `limit ${limit}`)
    }
  })
})

test('the beginning of the window is an answer with fewer rows', () => {
  worlds((on) => {
    const part = { from: window.from, to: window.from + 5 }
    const answer = answerOf(on, [slice(fetched(on, window), part)])
    assert.equal(written(answer).toString(), printRows(on.style, rowsIn(on, [part])).toString())
  })
})

/** As a Druid 33 wrote them. */
const empty: Record<string, string> = {
  timeseries: '[]',
  'SQL objects': '[]\n',
  'SQL objects with a header, the time last': '[{"page":null,"n":null,"the \\"time\\"":null}]\n',
  'SQL arrays with all headers': '[["page","t"],["STRING","LONG"],["VARCHAR","TIMESTAMP"]]\n',
  'SQL object lines': '\n\n',
  'SQL array lines with a header': '["t","page","n"]\n\n',
  'SQL csv': '\n',
  'SQL csv with headers, the time last and long': 'page,n,t\nSTRING,LONG,LONG\n\n',
}
for (const [name, expected] of Object.entries(empty)) {
  test(`${name}: an answer without rows`, () => {
    const style = rowStyles.find((each) => each.name === name)!
    assert.equal(printRows(style, []).toString(), expected)
    const sink = new RowSink({ format: style.format, grid, isDescending: false }, [window])
    sink.write(Buffer.from(expected))
    const result = sink.end(5, { headers: [], trailers: [] })
    assert.ok('panes' in result, JSON.stringify(result))
    const answer = recompose({ format: style.format, isDescending: false, limit: 9 }, result.panes)
    assert.equal(written(answer).toString(), expected)
    assert.equal(walked(answer).toString(), expected)
  })
}

test('assembled from compressed pieces it unpacks to the written bytes', () => {
  let count = 0
  for (const style of rowStyles) {
    for (let world = 1; world <= 20; world++) {
      const on = { style, world, grid, isDescending: false }
      const pane = fetched(on, { from: 960, to: 1280 })
      const inside = blocksInside(pane)
      const blocks = { first: inside.from, blocks: makeBlocks(gather(pane.body, inside)) }
      for (const part of [
        { from: 960, to: 1280 },
        { from: 970, to: 1279 },
      ]) {
        const answer = answerOf(on, [slice(pane, part)])
        const target = Buffer.alloc(2 * answer.length + 1024)
        const end = splice(answer, () => blocks, target)
        if (end === 0) continue
        count++
        assert.ok(gunzipSync(target.subarray(0, end)).equals(written(answer)), style.name)
      }
    }
  }
  assert.ok(count > 200, `only ${count} answers were put together`)
})
