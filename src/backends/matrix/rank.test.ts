import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareLabels, type LabelSet, printLabels, type Spelling } from '../../../test/rigs/matrix.ts'
import { RankWriter } from './rank.ts'

const writer = new RankWriter()

/** The rank of a label set, from its JSON text. */
function rankOf(labels: LabelSet, spelling: Spelling = 'plain'): Buffer {
  writer.reset()
  for (const label of labels) {
    for (const part of label) {
      const text = Buffer.from(`${printLabels([[part, '']], spelling).slice(1, -4)}\0`)
      assert.equal(writer.appendString(text, 0), text.length - 1)
    }
  }
  return Buffer.from(writer.rank)
}

const sign = (order: number): number => Math.sign(order)

function assertSameOrder(a: LabelSet, b: LabelSet): void {
  const expected = sign(compareLabels(a, b))
  assert.equal(sign(Buffer.compare(rankOf(a), rankOf(b))), expected)
  assert.equal(sign(Buffer.compare(rankOf(a, 'ascii'), rankOf(b, 'plain'))), expected)
}

/** Small alphabets, so that label sets have long beginnings in common. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('\0', '\u0001', '\u0002', 'a', 'b', '"', '\\'), maxLength: 4 }),
  fc.string({
    unit: fc.constantFrom('A', 'a', 'é', '\ud7ff', '\uffff', '\u{10000}', '\u{10ffff}'),
    maxLength: 3,
  }),
)
const labels = fc
  .uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 4 })
  .map((pairs) => pairs.sort((a, b) => Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0]))))

test('ranks compare as labels.Compare does, in every spelling', () => {
  fc.assert(fc.property(labels, labels, assertSameOrder), { numRuns: 3000 })
})

test('ranks of one label set are equal, whatever its spelling', () => {
  fc.assert(
    fc.property(labels, (set) => assert.deepEqual(rankOf(set, 'ascii'), rankOf(set, 'plain'))),
    { numRuns: 500 },
  )
})

test('a prefix comes first, and fewer labels before more', () => {
  assertSameOrder([['job', 'api']], [['job', 'api-readonly']])
  assertSameOrder(
    [['job', 'api']],
    [
      ['job', 'api'],
      ['x', ''],
    ],
  )
  assertSameOrder(
    [
      ['job', 'api'],
      ['x', ''],
    ],
    [['job', 'api-readonly']],
  )
  assertSameOrder([], [['', '']])
  assert.equal(rankOf([]).length, 0)
})

test('UTF-8 order, where the order of JavaScript strings is another', () => {
  const [beyond, last] = ['\u{10000}', '\uffff']
  assert.ok(beyond < last)
  assert.equal(Buffer.compare(rankOf([['a', beyond]]), rankOf([['a', last]])), 1)
  assert.equal(compareLabels([['a', beyond]], [['a', last]]), 1)
})

test('long strings make the writer grow', () => {
  const long = 'x'.repeat(10_000)
  assertSameOrder([['a', `${long}\u0001`]], [['a', `${long}\u0000`]])
  assert.equal(rankOf([['a', long]]).length, 10_003)
})

for (const broken of ['"abc', '"abc\\', '"abc\\u00', '"\\x"', '"\\u00g0"', '"\u0001"', '"a\nb"']) {
  test(`${JSON.stringify(broken)} has no rank`, () => {
    writer.reset()
    assert.equal(writer.appendString(Buffer.from(`${broken}\0`), 0), -1)
  })
}

test('short escapes are read', () => {
  writer.reset()
  const text = Buffer.from('"\\b\\f\\n\\r\\t\\/\\"\\\\"\0')
  assert.equal(writer.appendString(text, 0), text.length - 1)
  assert.equal(Buffer.from(writer.rank).toString(), '\b\f\n\r\t/"\\\0')
})
