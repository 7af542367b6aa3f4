import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { printRows, type RowWorld, rowStyles, rowsIn } from '../../../test/rigs/druid-rows.ts'
import { gridThrough } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { clockOf, filledUntil, type Pane, slice } from '../../core/pane.ts'
import { join } from '../../core/pane-join.ts'
import { chunksOf, corrupt, pieces } from '../../testing/mutations.ts'
import { mixSeeds, pick, type Random, seededRandom, wholeNumber } from '../../testing/random.ts'
import type { Decomposed, HeaderList, Unusable } from '../backend.ts'
import { RowSink } from './decompose.ts'
import type { RowFormat } from './druid-plan.ts'
import { recompose } from './recompose.ts'

interface Ground extends RowWorld {
  readonly random: Random
  readonly window: Interval
}

const laws: readonly (readonly [sentence: string, check: (ground: Ground) => void])[] = [
  [
    'the same bytes come out, however they arrive',
    (on) => {
      const body = bodyOf(on, [on.window])
      for (const size of [() => body.length, () => 1, () => wholeNumber(on.random, 0, 40)])
        assert.equal(printed(on, panesOf(on, [on.window], chunksOf(body, size))), body.toString())
    },
  ],
  [
    'several intervals: a pane for each, which together are the answer',
    (on) => {
      const intervals = somePieces(on)
      const body = bodyOf(on, intervals)
      const panes = panesOf(
        on,
        intervals,
        chunksOf(body, () => wholeNumber(on.random, 1, 100)),
      )
      assert.deepEqual(
        panes.map(({ from, to }) => ({ from, to })),
        intervals,
      )
      for (const pane of panes) for (let i = pane.from; i < pane.to; i++) assert.equal(clockOf(pane, i), 5)
      assert.equal(printed(on, panes), body.toString())
      for (const [i, interval] of intervals.entries())
        assert.equal(printed(on, [panes[i]!]), bodyOf(on, [interval]).toString())
    },
  ],
  [
    'the answer over A and B is the recomposition of both, joined or not, and its slices are the answers about them',
    (on) => {
      const parts = pieces(on.random, on.window)
      const body = bodyOf(on, [on.window]).toString()
      const panes = parts.map((part) => panesOf(on, [part], [bodyOf(on, [part])])[0]!)
      assert.equal(printed(on, panes), body)
      assert.equal(printed(on, [join(panes)]), body)
      const [whole] = panesOf(on, [on.window], [bodyOf(on, [on.window])])
      for (const part of parts)
        assert.equal(printed(on, [slice(whole!, part)]), bodyOf(on, [part]).toString())
      assert.equal(printed(on, [join(parts.map((part) => slice(whole!, part)))]), body)
    },
  ],
  [
    'cut short at any byte it is unusable, and so is one byte more',
    (on) => {
      const body = bodyOf(on, [on.window])
      for (let length = 0; length < body.length; length++)
        refused(on, [on.window], [body.subarray(0, length)])
      for (const more of ['\n', ',', ' ', '[]', '{"error":"x"}'])
        refused(on, [on.window], [body, Buffer.from(more)])
    },
  ],
  [
    'damaged it is unusable or forwarded unchanged, never as something else',
    (on) => {
      const body = bodyOf(on, [on.window])
      for (let i = 0; i < 30; i++) {
        const damaged = corrupt(on.random, body)
        const result = decompose(
          on,
          [on.window],
          chunksOf(damaged, () => wholeNumber(on.random, 1, 60)),
        )
        if ('unusable' in result) continue
        assert.equal(printed(on, result.panes, 'latin1'), damaged.toString('latin1'))
      }
    },
  ],
  [
    'rows of buckets that were not requested, or in the other order, are unusable',
    (on) => {
      const intervals = somePieces(on)
      const asked = rowsIn(on, intervals)
      const given = rowsIn(on, [on.window])
      if (asked.length < given.length) refused(on, intervals, [printRows(on.style, given)])
      const backwards = rowsIn({ ...on, isDescending: !on.isDescending }, [on.window])
      const firsts = pieces(on.random, on.window).filter((part) => rowsIn(on, [part]).length > 0)
      if (firsts.length > 1) refused(on, [on.window], [printRows(on.style, backwards)])
    },
  ],
]

for (const style of rowStyles) {
  for (const [sentence, check] of laws) {
    test(`${style.name}: ${sentence}`, () => {
      fc.assert(
        fc.property(fc.nat(), fc.boolean(), (world, isDescending) => {
          const random = seededRandom(mixSeeds(world, 7))
          const step = pick(random, [1, 1000, 60_000, 3_600_000, 86_400_000])
          const grid = gridThrough('cell', step, wholeNumber(random, 0, 1e6))
          const from = wholeNumber(random, 0, Math.floor(2e12 / step))
          const window = { from, to: from + wholeNumber(random, 1, 12) }
          check({ style, world, grid, isDescending, random, window })
        }),
        { numRuns: 40 },
      )
    })
  }
}

test('bytes of no kind at all are never a crash', () => {
  const alphabet = fc.constantFrom(...'[]{}",:\\\n01-TZt.e'.split(''))
  const text = fc.oneof(fc.string({ unit: alphabet, maxLength: 200 }), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(fc.constantFrom(...rowStyles), text, fc.nat(), (style, bytes, world) => {
      const on = { style, world, grid: gridThrough('cell', 1, 0), isDescending: false }
      const result = decompose(on, [{ from: 0, to: 5 }], [Buffer.from(bytes)])
      if ('panes' in result) assert.equal(printed(on, result.panes), bytes)
    }),
    { numRuns: 2000 },
  )
})

/** A string with something that JSON does not allow in one; CSV has no such rule. */
for (const style of rowStyles.filter(({ format }) => format.row !== 'csv')) {
  test(`${style.name}: a raw control character in a string is unusable, however it arrives`, () => {
    const on = { style, world: 1, grid: gridThrough('cell', 1000, 0), isDescending: false }
    const window = { from: 1, to: 9 }
    const body = bodyOf(on, [window])
    // Behind the quote that opens the last string of the body, and behind a backslash there.
    const string = body.lastIndexOf('"', body.lastIndexOf('"') - 1) + 1
    for (const damage of ['\u0001', '\n', '\u001f', '\u0000', '\\\n']) {
      const damaged = Buffer.concat([body.subarray(0, string), Buffer.from(damage), body.subarray(string)])
      for (const size of [damaged.length, 1, 7])
        refused(
          on,
          [window],
          chunksOf(damaged, () => size),
        )
    }
  })
}

const hour = gridThrough('cell', 3_600_000, 0)
/** From eight to noon on the first of January 2026. */
const morning = { from: 490_904, to: 490_908 }
const at = (time: string) => `"2026-01-01T${time}:00.000Z"`
const native: RowFormat = { container: 'list', row: 'object', time: 'timestamp', headerRows: 0, end: '' }
const row = (time: string, rest = '"result":{}') => `{"timestamp":${time},${rest}}`

function reasonFor(text: string, format = native, isDescending = false): string {
  const sink = new RowSink({ format, grid: hour, isDescending }, [morning])
  sink.write(Buffer.from(text))
  const result = sink.end(5, { headers: [], trailers: [] })
  assert.ok('unusable' in result, `was accepted: ${text}`)
  return result.unusable
}

const unusable: Record<string, readonly [answer: string, reason: RegExp]> = {
  'an empty body': ['', /cut short/],
  'an error': ['{"error":"Unknown exception","errorMessage":null}', /not rows/],
  'an error behind rows': [`[${row(at('08:00'))},{"error":"x"}]`, /without a time/],
  'no JSON at all': ['<html>', /not rows/],
  'white space': [`[ ${row(at('08:00'))}]`, /not rows/],
  'a comma too many': [`[${row(at('08:00'))},]`, /not rows/],
  'a comma too few': [`[${row(at('08:00'))}${row(at('09:00'))}]`, /not rows/],
  'a row that is no object': ['[["2026-01-01T08:00:00.000Z"]]', /not rows/],
  'a row that is closed by the wrong bracket': [`[{"timestamp":${at('08:00')}]]`, /not rows/],
  'a total without a time': [`[${row(at('08:00'))},${row('null')}]`, /cannot be read/],
  'a time inside a member': [`[{"result":{"timestamp":${at('08:00')}}}]`, /without a time/],
  'a row in the middle of a bucket': [`[${row(at('08:30'))}]`, /begins with no bucket/],
  'a row before the requested ones': [`[${row(at('07:00'))}]`, /not requested/],
  'a row behind the requested ones': [`[${row(at('12:00'))}]`, /not requested/],
  'time that goes back': [`[${row(at('09:00'))},${row(at('08:00'))}]`, /time order/],
  'a bucket in two pieces': [`[${row(at('08:00'))},${row(at('09:00'))},${row(at('08:00'))}]`, /time order/],
}
for (const [name, [answer, reason]] of Object.entries(unusable)) {
  test(`${name}: unusable`, () => assert.match(reasonFor(answer), reason))
}

test('an ascending answer to a descending query is unusable', () => {
  assert.match(reasonFor(`[${row(at('08:00'))},${row(at('09:00'))}]`, native, true), /time order/)
})

test('a database that leaves out the header is found out', () => {
  const lines: RowFormat = { container: 'lines', row: 'csv', time: 0, headerRows: 1, end: '\n' }
  assert.match(reasonFor('2026-01-01T08:00:00.000Z,1\n2026-01-01T09:00:00.000Z,1\n\n', lines), /header/)
  assert.match(reasonFor('\n', lines), /header/)
  assert.match(reasonFor('\n\n', { ...lines, row: 'object', time: 't' }), /header/)
  assert.match(reasonFor('[]\n', { ...lines, container: 'list', row: 'array' }), /header/)
})

test('a number that goes on is another number', () => {
  const format: RowFormat = { ...native, row: 'array', time: 0 }
  const start = String(morning.from * 3_600_000)
  assert.match(reasonFor(`[[${start},1],[${start}0,1]]`, format), /not requested/)
})

const whole = `[${row(at('08:00'))},${row(at('10:00'))}]`

function ended(headers: HeaderList, trailers: HeaderList): Decomposed | Unusable {
  const sink = new RowSink({ format: native, grid: hour, isDescending: false }, [morning])
  sink.write(Buffer.from(whole))
  return sink.end(5, { headers, trailers })
}

test('an answer that the database calls incomplete is unusable', () => {
  const result = ended([], ['X-Druid-Response-Complete', 'false'])
  assert.match('unusable' in result ? result.unusable : '', /incomplete/)
  assert.ok('panes' in ended([], ['x-druid-response-complete', 'true']))
})

test('an answer with anything in its response context is passed on, but not stored', () => {
  const storable = (...headers: string[]) => {
    const result = ended(headers, [])
    return 'panes' in result && result.storable
  }
  assert.equal(storable(), true)
  assert.equal(storable('X-Druid-Response-Context', '{}'), true)
  assert.equal(storable('x-druid-response-context', '{"missingSegments":[]}'), false)
  assert.equal(storable('X-Druid-Response-Context', '{}', 'x-druid-response-context', '{}'), false)
})

test('buckets without rows are known to be empty', () => {
  const result = ended([], [])
  assert.ok('panes' in result)
  const [pane] = result.panes
  assert.deepEqual([pane!.from, pane!.to, filledUntil(pane!)], [morning.from, morning.to, morning.from + 3])
  assert.equal(clockOf(pane!, morning.to - 1), 5)
})

test('a failed sink holds no more, and neither does one that has its answer, however much comes', () => {
  for (const start of ['<html>', whole]) {
    const sink = new RowSink({ format: native, grid: hour, isDescending: false }, [morning])
    sink.write(Buffer.from(start))
    sink.write(Buffer.alloc(10_000))
    const { held } = sink
    for (let i = 0; i < 100; i++) sink.write(Buffer.alloc(10_000))
    assert.equal(sink.held, held)
    assert.ok('unusable' in sink.end(5, { headers: [], trailers: [] }))
  }
})

test('a long row in small chunks is looked at once', () => {
  const long = Buffer.from(`[${row(at('08:00'), `"result":"${'x'.repeat(4_000_000)}"`)}]`)
  const sink = new RowSink({ format: native, grid: hour, isDescending: false }, [morning])
  // Looked at from its beginning with every chunk, this would be 16 · 10¹⁰ bytes.
  for (const chunk of chunksOf(long, () => 50)) sink.write(chunk)
  assert.ok(sink.held >= long.length)
  assert.ok('panes' in sink.end(5, { headers: [], trailers: [] }))
})

function bodyOf(on: RowWorld, intervals: readonly Interval[]): Buffer {
  return printRows(on.style, rowsIn(on, intervals))
}

/** Some of the window, in order, with gaps or without. */
function somePieces({ random, window }: Ground): Interval[] {
  const all = pieces(random, window)
  const some = all.filter(() => random() < 0.7)
  return some.length > 0 ? some : all
}

function decompose(on: RowWorld, intervals: readonly Interval[], chunks: readonly Uint8Array[]) {
  const sink = new RowSink({ format: on.style.format, ...on }, intervals)
  for (const chunk of chunks) {
    const borrowed = Buffer.from(chunk)
    sink.write(borrowed)
    borrowed.fill(0xee)
  }
  return sink.end(5, { headers: [], trailers: [] })
}

function panesOf(
  on: RowWorld,
  intervals: readonly Interval[],
  chunks: readonly Uint8Array[],
): readonly Pane[] {
  const result = decompose(on, intervals, chunks)
  assert.ok('panes' in result, JSON.stringify(result))
  assert.ok(result.storable)
  return result.panes
}

function refused(on: RowWorld, intervals: readonly Interval[], chunks: readonly Uint8Array[]): void {
  const result = decompose(on, intervals, chunks)
  assert.ok('unusable' in result, `was accepted: ${Buffer.concat(chunks).toString()}`)
}

function printed(on: RowWorld, panes: readonly Pane[], encoding: BufferEncoding = 'utf8'): string {
  const plan = { format: on.style.format, isDescending: on.isDescending, limit: Number.POSITIVE_INFINITY }
  const answer = recompose(plan, panes)
  const target = Buffer.alloc(answer.length)
  answer.write(target)
  return target.toString(encoding)
}
