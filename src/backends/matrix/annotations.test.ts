import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { distinct, readAnnotations, writeAnnotations } from './annotations.ts'

const trailer = (lists: string): string => `]}${lists}}`
const warnings = (...texts: string[]): string => `,"warnings":[${texts.map((text) => `"${text}"`).join(',')}]`
const infos = (...texts: string[]): string => `,"infos":[${texts.map((text) => `"${text}"`).join(',')}]`

const storable = (lists: string): boolean => {
  const read = readAnnotations(trailer(lists))
  assert.ok(read !== undefined, lists)
  return read.storable
}

test('no annotations: nothing to note', () => {
  assert.deepEqual(readAnnotations(']}}'), { notes: [], storable: true })
})

test('annotations of PromQL itself are kept', () => {
  assert.ok(storable(warnings('PromQL warning: encountered a mix of histograms and floats (1:5)')))
  assert.ok(storable(infos('PromQL info: metric might not be a counter: \\"x\\" (1:6)')))
  assert.ok(storable(warnings('PromQL warning: x', '3 more warning annotations omitted')))
  assert.ok(storable(infos('PromQL info: x', '12 more info annotations omitted')))
})

test('every other annotation means that this execution is incomplete', () => {
  assert.ok(!storable(warnings('results truncated due to limit')))
  assert.ok(!storable(warnings('remote read: connection refused')))
  assert.ok(!storable(warnings('PromQL warning: x', 'No StoreAPIs matched for this query')))
  assert.ok(!storable(infos('something new')))
  assert.ok(!storable(warnings('x PromQL warning: not at the beginning')))
  assert.ok(!storable(warnings('3 more series omitted')))
  assert.ok(!storable(warnings('')))
})

test('lists in another order are the same notes', () => {
  const one = readAnnotations(
    trailer(warnings('PromQL warning: b', 'PromQL warning: a') + infos('PromQL info: c')),
  )
  const other = readAnnotations(
    trailer(warnings('PromQL warning: a', 'PromQL warning: b') + infos('PromQL info: c')),
  )
  assert.deepEqual(one, other)
  assert.equal(one!.notes.length, 3)
})

test('the same sentence as a warning and as an info is two notes', () => {
  const read = readAnnotations(trailer(warnings('PromQL warning: x') + infos('PromQL warning: x')))
  assert.equal(new Set(read!.notes).size, 2)
})

const wrong = [
  '',
  ']}',
  ']}}}',
  ']} }',
  ']},"warnings":[]}',
  ']},"warnings":["a",]}',
  ']},"warnings":["a""b"]}',
  ']},"warnings":["a]}',
  ']},"warnings":["a\\"]}',
  ']},"warnings":[1]}',
  ']},"warnings":null}',
  ']},"infos":["a"],"warnings":["a"]}',
  ']},"warnings":["a"],"warnings":["a"]}',
  ']},"errors":["a"]}',
  '],"stats":{}},"warnings":["a"]}',
]
for (const text of wrong) {
  test(`${text || 'nothing'} is not a trailer`, () => assert.equal(readAnnotations(text), undefined))
}

test('annotations are written behind data, warnings first, our own sentences before all', () => {
  const notes = ['i"PromQL info: \\u003c"', 'w"PromQL warning: b"']
  assert.equal(
    writeAnnotations(notes, ['windowpane: "stale"']).toString(),
    ',"warnings":["windowpane: \\"stale\\"","PromQL warning: b"],"infos":["PromQL info: \\u003c"]',
  )
  assert.equal(writeAnnotations([], []).length, 0)
})

test('any texts: annotations are written as they were read, byte by byte, as sets', () => {
  const texts = fc.array(
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    { minLength: 1 },
  )
  fc.assert(
    fc.property(texts, texts, (some, others) => {
      const read = readAnnotations(trailer(`,"warnings":[${some.join(',')}],"infos":[${others.join(',')}]`))
      assert.ok(read !== undefined)
      const [w, i] = ['w', 'i'].map((letter) => read.notes.filter((note) => note.startsWith(letter)))
      assert.deepEqual(w!.map((note) => note.slice(1)).sort(), [...some].sort())
      assert.deepEqual(i!.map((note) => note.slice(1)).sort(), [...others].sort())
      assert.deepEqual(readAnnotations(`]}${writeAnnotations(read.notes, []).toString()}}`), read)
    }),
  )
})

test('texts that differ only in the numbers of their fetch are one; names and positions count', () => {
  const note = (name: string, difference: string, position: string): string =>
    `i"PromQL info: input to histogram_quantile needed to be fixed for monotonicity for metric name \\"${name}\\", with a max diff of ${difference}, over 3 samples from 2026-01-15T00:00:00Z (${position})"`
  const first = note('http2_x', '1.5e-09', '1:1')
  const second = note('http2_x', '22', '1:1')
  const others = [
    note('http3_x', '1.5e-09', '1:1'),
    note('http2_x', '1.5e-09', '1:40'),
    'w"PromQL warning: 1 (1:2)"',
    'w"PromQL warning: 2 (1:2)"',
  ]
  assert.deepEqual([...distinct([first, second, ...others])], [second, ...others])
})
