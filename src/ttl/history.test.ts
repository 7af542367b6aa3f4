import assert from 'node:assert/strict'
import test from 'node:test'
import { type HistoryRow, readHistory, refetchesOf } from './history.ts'
import { Learner } from './learned/learner.ts'

const row = (shape: string, age: number, changed = false): HistoryRow => ({ shape, age, gap: 60, changed })

test('lines of JSON are read; empty ones are skipped, and 1 and 0 are as good as true and false', () => {
  const text = `{"shape":"up","age":30,"gap":60,"changed":true}\r\n
{"shape":"up","age":-5.5,"gap":0.5,"changed":0}\n`
  assert.deepEqual(readHistory(text), [
    { shape: 'up', age: 30, gap: 60, changed: true },
    { shape: 'up', age: -5.5, gap: 0.5, changed: false },
  ])
  assert.deepEqual(readHistory('\n'), [])
})

const good = '{"shape":"up","age":30,"gap":60,"changed":true}'
for (const [text, line, mistake] of [
  [`${good}\n\nnot json`, 3, 'is not JSON'],
  ['[1]', 1, 'is not a JSON object'],
  ['null', 1, 'is not a JSON object'],
  ['{"shape":"","age":1,"gap":1,"changed":true}', 1, '"shape" is not a text'],
  ['{"shape":"up","age":"1","gap":1,"changed":true}', 1, '"age" is not a number of seconds'],
  ['{"shape":"up","age":1,"gap":0,"changed":true}', 1, '"gap" is not a number of seconds above 0'],
  ['{"shape":"up","age":1,"gap":1e999,"changed":true}', 1, '"gap" is not a number of seconds above 0'],
  ['{"shape":"up","age":1,"gap":1}', 1, '"changed" is not true or false'],
  [
    '{"shape":"up","age":1,"gap":1,"changed":true,"at":1}',
    1,
    '"at" is not known; expected shape, age, gap, changed',
  ],
] as const) {
  test(`refused: ${text}`, () => assert.deepEqual(readHistory(text), { line, mistake }))
}

test('neighbours of one shape are one refetch, in milliseconds, and at most a hundred', () => {
  const rows = [
    row('a', 30, true),
    row('a', 90),
    row('b', 0),
    ...Array.from({ length: 150 }, () => row('a', 1)),
  ]
  const refetches = refetchesOf(rows, (name) => ({ key: `key of ${name}`, sources: [name] }), 1234)
  assert.deepEqual(
    refetches.map(({ shape, at, changed }) => [shape.key, at, changed.length]),
    [
      ['key of a', 1234, 2],
      ['key of b', 1234, 1],
      ['key of a', 1234, 100],
      ['key of a', 1234, 50],
    ],
  )
  const [{ oldAges, newAges, changed }] = refetches as [(typeof refetches)[0]]
  assert.deepEqual(
    [oldAges, newAges, changed].map((each) => [...each]),
    [
      [30_000, 90_000],
      [90_000, 150_000],
      [1, 0],
    ],
  )
})

test('a history is learned in one go, although the rates were far off before', () => {
  const learner = new Learner({ clock: { now: () => 1e12 }, lapsesOnEpochs: false })
  // One change in 1000 s, looked for every 1000 s: 63 % have changed, some more than once.
  const rows = Array.from({ length: 4000 }, (_, i) => ({
    ...{ shape: 'up', age: 9600, gap: 1000 },
    changed: (i * 63) % 100 < 63,
  }))
  const shapeOf = (key: string) => ({ key, sources: ['up'] })
  for (const refetch of refetchesOf(rows, shapeOf, 1e12)) learner.observe(refetch)
  const terms = { budget: 0.01, floorMs: 5000, capMs: 86_400_000, settledAgeMs: 660_000 }
  const { source, rate } = learner.report(terms, shapeOf('up')).find(({ fromMs }) => fromMs === 9_600_000)!
  assert.equal(source, 'shape')
  assert.ok(rate > 0.9e-6 && rate < 1.1e-6, `${rate}; a count of changes would give 0.63e-6`)
})
