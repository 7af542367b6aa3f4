import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worldOf } from '../../../test/rigs/matrix.ts'
import { type Grid, gridThrough } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { clockOf, filledUntil } from '../../core/pane.ts'
import type { Decomposed, Unusable } from '../backend.ts'
import { MatrixSink } from './decompose.ts'
import { recompose } from './recompose.ts'

/** Instants 1000, 1060, 1120 and 1180 s. */
const grid = gridThrough('point', 60_000, 1_000_000)
const interval = { from: 16, to: 20 }

const envelope = (result: string, trailer = ''): string =>
  `{"status":"success","data":{"resultType":"matrix","result":[${result}]}${trailer}}`
const series = (labels: string, points: string): string => `{"metric":{${labels}},"values":[${points}]}`
const point = '[1000,"1"]'

interface Ground {
  readonly grid: Grid
  readonly interval: Interval
}

function decompose(text: string | Uint8Array, on: Ground = { grid, interval }): Decomposed | Unusable {
  const sink = new MatrixSink(on.grid, on.interval)
  sink.write(Buffer.from(text))
  return sink.end(5)
}

function printed(text: string, on?: Ground): string {
  const result = decompose(text, on)
  assert.ok('panes' in result, JSON.stringify(result))
  const answer = recompose(result.panes)
  const target = Buffer.alloc(answer.length)
  answer.write(target)
  return target.toString()
}

function reasonFor(text: string | Uint8Array, on?: Ground): string {
  const result = decompose(text, on)
  assert.ok('unusable' in result, `was believed: ${text.toString()}`)
  assert.notEqual(result.unusable, '')
  return result.unusable
}

test('the generated worlds have everything in them', () => {
  const worlds = Array.from({ length: 300 }, (_, seed) => worldOf(seed + 1))
  const all = worlds.flatMap((world) => world.series)
  for (const kind of ['floats', 'histograms', 'both'])
    assert.ok(
      all.some((each) => each.kind === kind),
      kind,
    )
  for (const part of [
    '{}',
    'api-readonly',
    '"Job"',
    '\\u0000',
    '\\"',
    '\u{1f600}',
    '\\ud83d\\ude00',
    '\\u2028',
  ])
    assert.ok(
      all.some((each) => each.head.includes(part)),
      part,
    )
  assert.ok(worlds.some((world) => world.series.length === 0))
  assert.ok(worlds.some((world) => world.warnings.length > 1 && world.infos.length > 0))
})

const floats = '[1000,"1"],[1120,"-0"],[1180,"NaN"]'
const histogram = '{"count":"2","sum":"1e-07","buckets":[[0,"0.5","1","2"],[3,"-0.1","0.1","3"]]}'
const answers = {
  'an empty result': envelope(''),
  'an empty label set': envelope(series('', point)),
  'odd values': envelope(series('', '[1000,"+Inf"],[1060,"-Inf"],[1120,"1e+21"],[1180,"5e-324"]')),
  'series that come and go': envelope(
    `${series('"a":"1"', '[1000,"1"]')},${series('"a":"2"', '[1180,"1"]')}`,
  ),
  'a name that is a prefix of another': envelope(
    `${series('"a":"api"', floats)},${series('"a":"api-readonly"', floats)}`,
  ),
  'fewer labels before more': envelope(`${series('"a":"1"', floats)},${series('"a":"1","b":"1"', floats)}`),
  'upper case before lower case': envelope(`${series('"Z":"1"', floats)},${series('"a":"1"', floats)}`),
  'brackets and quotes in labels': envelope(series('"a":"}],[{\\"","b":"\\\\"', floats)),
  'a native histogram': envelope(`{"metric":{},"histograms":[[1000,${histogram}]]}`),
  'a native histogram without buckets': envelope(
    '{"metric":{},"histograms":[[1060,{"count":"0","sum":"0"}]]}',
  ),
  'both lanes': envelope(
    `{"metric":{"a":"b"},"values":[${point}],"histograms":[[1060,${histogram}],[1120,${histogram}]]}`,
  ),
  warnings: envelope('', ',"warnings":["PromQL warning: x"]'),
  infos: envelope(series('', floats), ',"infos":["PromQL info: \\u003cx\\u003e \\"y\\""]'),
  'warnings and infos': envelope('', ',"warnings":["PromQL warning: x"],"infos":["PromQL info: y"]'),
}
for (const [name, answer] of Object.entries(answers)) {
  test(`${name}: the same bytes come out`, () => assert.equal(printed(answer), answer))
}

test('fractional timestamps keep their three digits', () => {
  const on = {
    grid: gridThrough('point', 500, 1_435_781_451_100),
    interval: { from: 2_871_562_902, to: 2_871_562_904 },
  }
  const histograms = ',"histograms":[[1435781451.600,{"count":"1","sum":"1"}]]'
  const answer = envelope(`{"metric":{},"values":[[1435781451.100,"1"]]${histograms}}`)
  assert.equal(printed(answer, on), answer)
})

test('every clock is the one of the fetch, and the span of the data is known', () => {
  const result = decompose(envelope(series('', '[1060,"1"]')))
  assert.ok('panes' in result)
  assert.deepEqual([result.panes[0]!.from, result.panes[0]!.to, filledUntil(result.panes[0]!)], [16, 20, 18])
  for (let bucket = 16; bucket < 20; bucket++) assert.equal(clockOf(result.panes[0]!, bucket), 5)
})

const unusable: Record<string, readonly [answer: string, reason: RegExp]> = {
  'an empty body': ['', /cut short/],
  'an error': ['{"status":"error","errorType":"bad_data","error":"x"}', /not a matrix/],
  'a vector': ['{"status":"success","data":{"resultType":"vector","result":[]}}', /not a matrix/],
  'no JSON at all': ['<html>', /not a matrix/],
  'statistics inside data': [
    '{"status":"success","data":{"resultType":"matrix","result":[],"stats":{}}}',
    /unexpected/,
  ],
  'statistics behind data': [envelope('', ',"stats":{"seriesFetched":"1"}'), /unexpected/],
  'a partial answer': [`{"status":"success","isPartial":true,${envelope('').slice(20)}`, /not a matrix/],
  'series in no order': [envelope(`${series('"a":"2"', point)},${series('"a":"1"', point)}`), /label order/],
  'a series twice': [envelope(`${series('"a":"1"', point)},${series('"a":"1"', point)}`), /label order/],
  'a series twice, spelt differently': [
    envelope(`${series('"a":"1"', point)},${series('"a":"\\u0031"', point)}`),
    /label order/,
  ],
  'the empty label set twice': [envelope(`${series('', point)},${series('', point)}`), /label order/],
  'UTF-16 order': [
    envelope(`${series('"a":"\u{10000}"', point)},${series('"a":"\uffff"', point)}`),
    /label order/,
  ],
  'a point between two instants': [envelope(series('', '[1000.001,"1"]')), /off the grid/],
  'a point before the interval': [envelope(series('', '[940,"1"]')), /off the grid/],
  'a point behind the interval': [envelope(series('', '[1240,"1"]')), /off the grid/],
  'an instant twice': [envelope(series('', '[1000,"1"],[1000,"1"]')), /off the grid/],
  'time that goes back': [envelope(series('', '[1060,"1"],[1000,"1"]')), /off the grid/],
  'a histogram between two instants': [
    envelope('{"metric":{},"histograms":[[1001,{"count":"1","sum":"1"}]]}'),
    /off the grid/,
  ],
  'a histogram without an instant': [
    envelope('{"metric":{},"histograms":[[{"count":"1"},{}]]}'),
    /off the grid/,
  ],
  'a series without points': [envelope('{"metric":{},"values":[]}'), /not a matrix/],
  'a series without lanes': [envelope('{"metric":{}}'), /not a matrix/],
  'histograms before values': [
    envelope(`{"metric":{},"histograms":[[1000,{}]],"values":[${point}]}`),
    /not a matrix/,
  ],
  'a lane twice': [envelope(`{"metric":{},"values":[${point}],"values":[[1060,"1"]]}`), /not a matrix/],
  'an unquoted value': [envelope(series('', '[1000,1]')), /not a matrix/],
  'a label that is no string': [envelope(series('"a":1', point)), /labels/],
  'an escape that JSON does not have': [envelope(series('"a":"\\x"', point)), /labels/],
  'a comma too many': [envelope(`${series('', point)},`), /not a matrix/],
  'a comma too few': [envelope(`${series('"a":"1"', point)}${series('"a":"2"', point)}`), /not a matrix/],
  'a raw control character in a label': [envelope(series('"a":"\u0001"', point)), /labels/],
  'white space': [envelope(` ${series('', point)}`), /not a matrix/],
  'garbage behind the end': [`${envelope(series('', point))}x`, /unexpected/],
  'a line feed behind the end': [`${envelope('')}\n`, /unexpected/],
  'two answers': [envelope('') + envelope(''), /unexpected/],
  'an unknown field behind data': [envelope('', ',"foo":1'), /unexpected/],
  'infos before warnings': [envelope('', ',"infos":["x"],"warnings":["x"]'), /unexpected/],
  'an empty list of warnings': [envelope('', ',"warnings":[]'), /unexpected/],
}
for (const [name, [answer, reason]] of Object.entries(unusable)) {
  test(`${name}: unusable`, () => assert.match(reasonFor(answer), reason))
}

for (const control of ['\u0000', '\u0001', '\n', '\t', '\u001f']) {
  test(`a raw control character (${JSON.stringify(control)}) in a string: unusable, wherever it stands, however it arrives`, () => {
    for (const answer of [
      envelope(series(`"a":"${control}"`, point)),
      envelope(series(`"a":"b\\${control}"`, point)),
      envelope(series('', `[1000,"1\\${control}"]`)),
      envelope(series('', `[1000,"1${control}"]`)),
      envelope(series('', `[1000,"${control}"],[1060,"1"]`)),
      envelope(`{"metric":{},"histograms":[[1000,{"count":"1${control}","sum":"1"}]]}`),
      envelope(`{"metric":{},"histograms":[[1000,{"count":"1\\${control}","sum":"1"}]]}`),
      envelope('', `,"warnings":["PromQL warning: ${control}"]`),
      envelope('', `,"infos":["PromQL info: \\${control}"]`),
    ]) {
      for (let cut = 0; cut < answer.length; cut++) {
        const sink = new MatrixSink(grid, interval)
        sink.write(Buffer.from(answer.slice(0, cut)))
        sink.write(Buffer.from(answer.slice(cut)))
        assert.ok('unusable' in sink.end(5), `cut at ${cut}: ${answer}`)
      }
    }
  })
}

const fractions = { grid: gridThrough('point', 10, 1_000_100), interval: { from: 100_010, to: 100_099 } }
for (const instant of [
  '1000.1',
  '1000.10',
  '1000.1000',
  '1000.1:0',
  '1000.1a0',
  '1000.',
  '1e3',
  '-1000.100',
]) {
  test(`an instant is printed as ${instant}: unusable`, () => {
    reasonFor(envelope(series('', `[${instant},"1"]`)), fractions)
    reasonFor(envelope(`{"metric":{},"histograms":[[${instant},{"count":"1","sum":"1"}]]}`), fractions)
  })
}

test('an instant without digits is not 1970', () => {
  const on = { grid: gridThrough('point', 1000, 0), interval: { from: 0, to: 2 } }
  reasonFor(envelope(series('', '[,"1"]')), on)
  reasonFor(envelope('{"metric":{},"histograms":[[,{"count":"1","sum":"1"}]]}'), on)
})

test('annotations that are not UTF-8 are unusable: they could not be printed again', () => {
  const answer = Buffer.from(envelope('', ',"warnings":["PromQL warning: ?"]'))
  answer[answer.indexOf('?')] = 0xff
  reasonFor(answer)
})

const whole = envelope(
  `{"metric":{"a":"\\"é"},"values":[${floats}],"histograms":[[1060,${histogram}]]},${series('"b":"1"', point)}`,
  ',"warnings":["PromQL warning: \\"x\\""],"infos":["PromQL info: y"]',
)

test('cut short at any byte: unusable', () => {
  assert.equal(printed(whole), whole)
  const bytes = Buffer.from(whole)
  for (let length = 0; length < bytes.length; length++) reasonFor(bytes.subarray(0, length))
})

test('cut into two at any byte: the same', () => {
  const bytes = Buffer.from(whole)
  for (let cut = 0; cut <= bytes.length; cut++) {
    const sink = new MatrixSink(grid, interval)
    sink.write(bytes.subarray(0, cut))
    sink.write(bytes.subarray(cut))
    assert.ok('panes' in sink.end(5), `cut at ${cut}`)
  }
})

test('a failed sink holds no more, however much comes', () => {
  const sink = new MatrixSink(grid, interval)
  sink.write(Buffer.from('<html>'))
  const { held } = sink
  for (let i = 0; i < 100; i++) sink.write(Buffer.alloc(10_000))
  assert.equal(sink.held, held)
  assert.ok('unusable' in sink.end(5))
})

test('an answer larger than the first buffer is kept whole', () => {
  const many = Array.from({ length: 2000 }, (_, i) => series(`"a":"${String(i).padStart(5, '0')}"`, floats))
  const answer = Buffer.from(envelope(many.join(',')))
  const sink = new MatrixSink(grid, interval)
  for (let at = 0; at < answer.length; at += 1000) sink.write(answer.subarray(at, at + 1000))
  assert.ok(sink.held > answer.length)
  const result = sink.end(5)
  assert.ok('panes' in result)
  assert.equal(result.panes[0]!.body.columns, 2000)
})
