import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { SegmentView, Unreadable } from '../segment-watch.ts'
import { segments } from './segments.ts'

interface Segment {
  readonly source: string
  /** In days. */
  readonly from: number
  readonly to: number
  readonly version: string
  readonly partition: number
  readonly isRealtime: boolean
}

const day = 86_400_000
const iso = (days: number): string => new Date(days * day).toISOString()
const header = '["datasource","start","end","version","partition_num","is_realtime"]'

const lineOf = ({ source, from, to, version, partition, isRealtime }: Segment): string =>
  JSON.stringify([source, iso(from), iso(to), version, partition, isRealtime ? 1 : 0])

const bodyOf = (all: readonly Segment[]): string => [header, ...all.map(lineOf), '', ''].join('\n')

function read(body: string, { status = 200, chunk = body.length || 1 } = {}): SegmentView | Unreadable {
  const reader = segments.reader()
  const bytes = Buffer.from(body)
  for (let from = 0; from < bytes.length; from += chunk) {
    // A chunk is valid only during the call.
    const part = Buffer.from(bytes.subarray(from, from + chunk))
    reader.write(part)
    part.fill(0)
  }
  return reader.end(status)
}

function view(all: readonly Segment[], chunk?: number): SegmentView {
  const found = read(bodyOf(all), chunk === undefined ? {} : { chunk })
  assert.ok('count' in found, JSON.stringify(found))
  return found
}

const trouble = (body: string, status = 200): string => {
  const found = read(body, { status })
  assert.ok('unreadable' in found)
  return found.unreadable
}

const someSegment: fc.Arbitrary<Segment> = fc
  .record({
    source: fc.constantFrom('wiki', 'the "other"\n_one', 'é'),
    from: fc.nat(9),
    length: fc.integer({ min: 1, max: 3 }),
    version: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
    partition: fc.nat(2),
    isRealtime: fc.boolean(),
  })
  .map(({ length, ...rest }) => ({ ...rest, to: rest.from + length }))

const idOf = ({ source, from, to, version, partition }: Segment): string =>
  JSON.stringify([source, from, to, version, partition])

const someSegments = fc.uniqueArray(someSegment, { selector: idOf, maxLength: 12 })

const days = Array.from({ length: 14 }, (_, i) => i)
const sourcesOf = (...all: readonly Segment[]): string[] => [...new Set(all.map(({ source }) => source))]
const covering = (all: readonly Segment[], source: string, at: number): Segment[] =>
  all.filter((each) => each.source === source && each.from <= at && at < each.to)

/** Whether one day of a data source is at rest, by its definition. */
function isAtRest(all: readonly Segment[], source: string, at: number): boolean {
  const published = all.filter((each) => each.source === source && !each.isRealtime)
  const isBehind = published.every(({ to }) => to <= at)
  return !isBehind && covering(all, source, at).every(({ isRealtime }) => !isRealtime)
}

const isCovered = (spans: readonly { from: number; to: number }[] | undefined, at: number): boolean =>
  spans?.some(({ from, to }) => from <= at * day && at * day < to) === true

test('at rest: no segment is being written, and a finished one ends later', () => {
  fc.assert(
    fc.property(someSegments, (all) => {
      const rest = segments.atRest(view(all))
      for (const source of sourcesOf(...all)) {
        for (const at of days)
          assert.equal(isCovered(rest.get(source), at), isAtRest(all, source, at), `${source} ${at}`)
      }
    }),
  )
})

test('changed: the symmetric difference of the ids, day by day', () => {
  fc.assert(
    fc.property(
      someSegments,
      someSegments,
      fc.array(fc.boolean(), { minLength: 12 }),
      (before, more, stays) => {
        const kept = before.filter((_, i) => stays[i])
        const after = [...kept, ...more.filter((each) => !before.some((old) => idOf(old) === idOf(each)))]
        const found = segments.changes(view(before), view(after))
        for (const source of sourcesOf(...before, ...after)) {
          const spans = found.find((change) => change.source === source)?.spans
          for (const at of days) {
            const [old, now] = [covering(before, source, at), covering(after, source, at)]
            const ids = (list: readonly Segment[], isRealtime: boolean) =>
              list.filter((each) => each.isRealtime === isRealtime).map(idOf)
            const differs = (isRealtime: boolean) =>
              new Set(ids(old, isRealtime)).symmetricDifference(new Set(ids(now, isRealtime))).size > 0
            const expected = differs(false) || (differs(true) && isAtRest(before, source, at))
            assert.equal(isCovered(spans, at), expected, `${source} ${at}`)
          }
          spans?.forEach(({ from, to }, i) => {
            assert.ok(from < to && (i === 0 || spans[i - 1]!.to < from), 'condensed')
          })
        }
      },
    ),
  )
})

test('the same segments are the same view, in whatever order and chunks they come', () => {
  fc.assert(
    fc.property(someSegments, fc.integer({ min: 1, max: 90 }), (all, chunk) => {
      const [one, other] = [view(all), view(all.toReversed(), chunk)]
      assert.equal(one.count, all.length)
      assert.equal(other.count, all.length)
      assert.deepEqual(segments.changes(one, other), [])
      assert.deepEqual(segments.atRest(one), segments.atRest(other))
    }),
  )
})

const segment = (given: Partial<Segment> = {}): Segment => ({
  ...{ source: 'wiki', from: 3, to: 4, version: 'v1', partition: 0, isRealtime: false },
  ...given,
})

const changed = (before: readonly Segment[], after: readonly Segment[]): readonly (readonly number[])[] =>
  segments
    .changes(view(before), view(after))
    .flatMap(({ spans }) => spans.map(({ from, to }) => [from / day, to / day]))

test('an append, an overwrite, its end and a drop each touch their interval, and no other', () => {
  const others = [segment({ from: 2, to: 3 }), segment({ from: 5, to: 6 }), segment({ source: 'other' })]
  const first = [...others, segment()]
  const appended = [...first, segment({ partition: 1 })]
  const overwritten = [...appended, segment({ version: 'v2' })]
  const dropped = [...others, segment({ version: 'v2' })]
  assert.deepEqual(changed(first, appended), [[3, 4]])
  assert.deepEqual(changed(appended, overwritten), [[3, 4]])
  assert.deepEqual(changed(overwritten, dropped), [[3, 4]])
  assert.deepEqual(changed(dropped, others), [[3, 4]])
  assert.deepEqual(changed(others, first), [[3, 4]])
  assert.deepEqual(changed(first, first), [])
})

test('segments in progress where data is being written, or at the end, are left to the TTL policy', () => {
  const past = [segment({ from: 2, to: 3 }), segment()]
  const head = segment({ from: 4, to: 5, isRealtime: true })
  const second = segment({ from: 4, to: 5, partition: 1, isRealtime: true })
  assert.deepEqual(changed(past, [...past, head]), [])
  assert.deepEqual(changed([...past, head], [...past, head, second]), [])
  // Finished: the same segments, served by others from now on.
  const finished = [head, second].map((each) => ({ ...each, isRealtime: false }))
  assert.deepEqual(changed([...past, head, second], [...past, ...finished]), [])
  assert.equal(isCovered(segments.atRest(view([...past, head])).get('wiki'), 4), false)
  assert.equal(isCovered(segments.atRest(view([...past, ...finished])).get('wiki'), 4), true)
})

test('late data of a stream touches an interval at rest as soon as it is being written', () => {
  const past = [segment({ from: 2, to: 5 }), segment({ from: 5, to: 6 })]
  const late = segment({ from: 3, to: 4, partition: 7, isRealtime: true })
  assert.deepEqual(changed(past, [...past, late]), [[3, 4]])
  assert.deepEqual(
    segments
      .atRest(view([...past, late]))
      .get('wiki')!
      .map(({ from, to }) => [from / day, to / day]),
    [
      [Number.NEGATIVE_INFINITY, 3],
      [4, 6],
    ],
  )
  // It reaches beyond the interval at rest: only that is touched.
  const beyond = segment({ from: 5, to: 8, partition: 1, isRealtime: true })
  assert.deepEqual(changed(past, [...past, beyond]), [[5, 6]])
})

test('segments that reach over all time', () => {
  const all = '["wiki","-146136543-09-08T08:23:32.096Z","146140482-04-24T15:36:27.903Z","v1",0,0]'
  const found = read(`${header}\n${all}\n\n`)
  assert.ok('count' in found)
  const ever = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
  assert.deepEqual(segments.atRest(found), new Map([['wiki', [ever]]]))
  assert.deepEqual(segments.changes(view([]), found), [{ source: 'wiki', spans: [ever] }])
})

test('a Druid without segments has a view too', () => {
  assert.deepEqual(read(`${header}\n\n`), { count: 0, sources: new Map() })
})

test('an answer that is refused, broken off or something else is no view', () => {
  const line = lineOf(segment())
  assert.equal(
    trouble('{"error":"druidException","errorMessage":"Unauthorized","context":{}}', 403),
    'status 403: Unauthorized',
  )
  assert.equal(trouble('', 502), 'status 502')
  for (const body of ['', header, `${header}\n`, `${header}\n${line}\n`, `${header}\n${line}\n\n${line}`]) {
    assert.equal(trouble(body), 'the answer breaks off', body)
  }
  for (const body of [
    '\n',
    `${line}\n\n`,
    '[]\n\n',
    `${header}\nnull\n\n`,
    `${header}\n{"datasource":"wiki"}\n\n`,
    `${header}\n["wiki","2026-01-01T00:00:00.000Z","2026-01-02T00:00:00.000Z","v1",0]\n\n`,
    `${header}\n["wiki","2026-01-01T00:00:00.000Z","2026-01-02T00:00:00.000Z","v1",0,2]\n\n`,
    `${header}\n["wiki","2026-01-01T00:00:00.000Z","2026-01-02T00:00:00.000Z","v1",null,0]\n\n`,
    `${header}\n["wiki","2026-01-02T00:00:00.000Z","2026-01-01T00:00:00.000Z","v1",0,0]\n\n`,
    `${header}\n["wiki","yesterday","today","v1",0,0]\n\n`,
    `${header}\n[["wiki"],"2026-01-01T00:00:00.000Z","2026-01-02T00:00:00.000Z","v1",0,0]\n\n`,
    `${header}\n\n${line}\n`,
    `${header}\n${'['.repeat(70_000)}`,
  ]) {
    assert.match(
      trouble(body),
      /not a list of segments|breaks off|without an end|behind its end/,
      body.slice(0, 100),
    )
  }
})

test('whatever the answer, it is read or refused, and never thrown', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.integer({ min: 1, max: 9 }), (bytes, chunk) => {
      const body = Buffer.from(bytes).toString('latin1')
      for (const start of ['', `${header}\n`]) read(`${start}${body}`, { chunk })
    }),
  )
})
