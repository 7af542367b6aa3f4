import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gridThrough } from '../../core/grid.ts'
import { type Pane, slice } from '../../core/pane.ts'
import { join } from '../../core/pane-join.ts'
import { MatrixSink } from './decompose.ts'
import { recompose } from './recompose.ts'

const grid = gridThrough('point', 1000, 0)

const envelope = (result: string, trailer = ''): string =>
  `{"status":"success","data":{"resultType":"matrix","result":[${result}]}${trailer}}`
const floats = (head: string, ...instants: number[]): string =>
  `{"metric":{${head}},"values":[${instants.map((at) => `[${at},"${at}.5"]`).join(',')}]}`

function pane(from: number, to: number, text: string): Pane {
  const sink = new MatrixSink(grid, { from, to })
  sink.write(Buffer.from(text))
  const result = sink.end(1)
  assert.ok('panes' in result, JSON.stringify(result))
  return result.panes[0]!
}

function printed(panes: readonly Pane[], ...warnings: string[]): string {
  const answer = recompose(panes, { warnings })
  const target = Buffer.alloc(answer.length)
  answer.write(target)
  return target.toString()
}

test('nothing is an empty result', () => {
  assert.equal(printed([]), envelope(''))
  assert.equal(printed([pane(0, 5, envelope(''))]), envelope(''))
})

test('a series that is in only some of the panes stands at its place', () => {
  const a = pane(1, 3, envelope(`${floats('"s":"a"', 1, 2)},${floats('"s":"c"', 2)}`))
  const b = pane(3, 4, envelope(''))
  const c = pane(4, 6, envelope(`${floats('"s":"b"', 4)},${floats('"s":"c"', 5)}`))
  const expected = envelope(`${floats('"s":"a"', 1, 2)},${floats('"s":"b"', 4)},${floats('"s":"c"', 2, 5)}`)
  assert.equal(printed([a, b, c]), expected)
  assert.equal(printed([join([a, b]), c]), expected)
  assert.equal(printed([a, join([b, c])]), expected)
})

test('a series without points in a slice is not written, and no comma for it', () => {
  const whole = pane(1, 4, envelope(['a', 'b', 'c'].map((s, i) => floats(`"s":"${s}"`, i + 1)).join(',')))
  for (const [i, s] of ['a', 'b', 'c'].entries()) {
    const part = slice(whole, { from: i + 1, to: i + 2 })
    assert.equal(printed([part]), envelope(floats(`"s":"${s}"`, i + 1)))
  }
})

test('lanes are put together each for itself, values first', () => {
  const histogram = (at: number) => `[${at},{"count":"1","sum":"1"}]`
  const a = pane(1, 3, envelope(`{"metric":{},"values":[[1,"1"]],"histograms":[${histogram(2)}]}`))
  const b = pane(3, 5, envelope(`{"metric":{},"values":[[4,"4"]],"histograms":[${histogram(3)}]}`))
  const expected = `{"metric":{},"values":[[1,"1"],[4,"4"]],"histograms":[${histogram(2)},${histogram(3)}]}`
  assert.equal(printed([a, b]), envelope(expected))
  assert.equal(printed([join([a, b])]), envelope(expected))
  assert.equal(
    printed([slice(a, { from: 2, to: 3 }), slice(b, { from: 3, to: 4 })]),
    envelope(`{"metric":{},"histograms":[${histogram(2)},${histogram(3)}]}`),
  )
})

test('annotations are the union of those of the panes, behind data', () => {
  const a = pane(1, 2, envelope('', ',"warnings":["PromQL warning: x"],"infos":["PromQL info: a"]'))
  const b = pane(2, 3, envelope(floats('', 2), ',"infos":["PromQL info: b","PromQL info: a"]'))
  const c = pane(3, 4, envelope(''))
  const expected = envelope(
    floats('', 2),
    ',"warnings":["PromQL warning: x"],"infos":["PromQL info: a","PromQL info: b"]',
  )
  assert.equal(printed([a, b, c]), expected)
  assert.equal(printed([join([a, b, c])]), expected)
})

test('annotations of buckets outside the window are not in the answer', () => {
  const a = pane(1, 2, envelope('', ',"warnings":["PromQL warning: x"]'))
  const b = pane(2, 3, envelope('', ',"warnings":["PromQL warning: y"]'))
  const both = join([a, b, pane(3, 4, envelope(''))])
  const notes = (from: number, to: number) => printed([slice(both, { from, to })])
  assert.equal(notes(1, 2), envelope('', ',"warnings":["PromQL warning: x"]'))
  assert.equal(notes(2, 4), envelope('', ',"warnings":["PromQL warning: y"]'))
  assert.equal(notes(3, 4), envelope(''))
})

test('our own sentences are warnings before those of the database', () => {
  const a = pane(1, 2, envelope('', ',"warnings":["PromQL warning: x"]'))
  assert.equal(printed([a], 'a "b"\n'), envelope('', ',"warnings":["a \\"b\\"\\n","PromQL warning: x"]'))
  assert.equal(printed([pane(1, 2, envelope(''))], 'é'), envelope('', ',"warnings":["é"]'))
})
