/** The query forms of dashboards, as the text of a database: cut, stored, joined and recomposed. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { MatrixSink } from '../backends/matrix/decompose.ts'
import { recompose } from '../backends/matrix/recompose.ts'
import { layOver } from '../stores/tile.ts'
import type { Interval } from './interval.ts'
import { type Pane, PaneBody, paneOf, slice } from './pane.ts'
import { join } from './pane-join.ts'

interface Form {
  readonly columns: number
  readonly buckets: number
  /** Whether a column has a point in a bucket; `era` changes when the tail is fetched again. */
  has(column: number, bucket: number, era: number): boolean
  /** Columns whose points are native histograms in some buckets. */
  readonly histograms?: (column: number) => boolean
}

const always = () => true
const forms: Readonly<Record<string, Form>> = {
  '1 × 10 000': { columns: 1, buckets: 10_000, has: always },
  '100 × 720': {
    columns: 100,
    buckets: 720,
    // Some have holes, some begin late, some end early, some return, some are only there before the tail or in it.
    has: (column, bucket, era) =>
      [
        true,
        bucket % 7 !== 3,
        bucket > column,
        bucket < 720 - column,
        bucket < 100 || bucket > 600,
        era === 1,
        era === 2,
      ][column % 7]!,
    histograms: (column) => column % 5 === 0,
  },
  '5 000 × 10': { columns: 5000, buckets: 10, has: (column, bucket) => (column + bucket) % 4 !== 0 },
  '50 000 short-lived columns': {
    columns: 50_000,
    buckets: 120,
    has: (column, bucket) => bucket >= column % 119 && bucket <= (column % 119) + 1,
  },
}

const grid = { kind: 'point', step: 15_000, origin: 1_250 } as const
const first = Math.floor(Date.UTC(2026, 0, 1) / grid.step)
const [fetchedAt, refetchedAt] = [Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 3)]

function pointOf(form: Form, column: number, place: { bucket: number; era: number }): string {
  const instant = ((first + place.bucket) * grid.step + grid.origin) / 1000
  const value = ((column * 7919 + place.bucket * 104_729 * place.era) % 100_003) / 7
  if (!isHistogram(form, column, place.bucket)) return `[${instant.toFixed(3)},"${value}"]`
  return `[${instant.toFixed(3)},{"count":"${place.bucket}","sum":"${value}","buckets":[[0,"-0.5","0.5","${value}"]]}]`
}

const isHistogram = (form: Form, column: number, bucket: number): boolean =>
  form.histograms?.(column) === true && bucket % 2 === 1

/** The database's response for a window; buckets from `era2From` on belong to the second era. */
function answer(form: Form, { from, to }: Interval, era2From = Number.POSITIVE_INFINITY): Buffer {
  const series: string[] = []
  for (let column = 0; column < form.columns; column++) {
    const lanes: [string[], string[]] = [[], []]
    for (let bucket = from; bucket < to; bucket++) {
      const era = bucket >= era2From ? 2 : 1
      if (!form.has(column, bucket, era)) continue
      lanes[isHistogram(form, column, bucket) ? 1 : 0].push(pointOf(form, column, { bucket, era }))
    }
    const text = ['values', 'histograms'].map((name, i) =>
      lanes[i]!.length > 0 ? `,"${name}":[${lanes[i]}]` : '',
    )
    const head = `{"metric":{"__name__":"m","instance":"${String(column).padStart(5, '0')}"}`
    if (text.join('') !== '') series.push(`${head}${text.join('')}}`)
  }
  return Buffer.from(`{"status":"success","data":{"resultType":"matrix","result":[${series}]}}`)
}

function cut(text: Uint8Array, { from, to }: Interval, at: number): Pane {
  const sink = new MatrixSink(grid, { from: first + from, to: first + to })
  for (let i = 0; i < text.length; i += 65_536) sink.write(text.subarray(i, i + 65_536))
  const result = sink.end(at)
  if ('unusable' in result) throw new Error(result.unusable)
  return result.panes[0]!
}

function says(panes: readonly Pane[], text: Buffer): void {
  const recomposed = recompose(panes)
  const target = Buffer.alloc(recomposed.length)
  recomposed.write(target)
  assert.ok(target.equals(text), 'other bytes than the database’s')
}

const copyOf = ({ body }: Pane): Pane => {
  const copy = Buffer.allocUnsafeSlow(body.bytes.length)
  body.bytes.copy(copy)
  return paneOf(new PaneBody(copy))
}

for (const [name, form] of Object.entries(forms)) {
  const { buckets } = form
  const whole: Interval = { from: 0, to: buckets }
  const text = answer(form, whole)
  const pane = cut(text, whole, fetchedAt)
  const part = (from: number, to: number) => slice(pane, { from: first + from, to: first + to })
  const partsAt = (cuts: readonly number[]) =>
    [...cuts, buckets].map((to, i) => part(i === 0 ? 0 : cuts[i - 1]!, to))

  test(`${name}: cut and put together, the text is the same`, () => {
    says([pane], text)
    says([join([pane])], text)
    says([copyOf(pane)], text)
  })

  const sevenths = [1, 2, 3, 4, 5, 6].map((i) => Math.floor((i * buckets) / 7))
  for (const [where, cuts] of [
    ['in the middle', [buckets >> 1]],
    ['at both ends', [1, buckets - 1]],
    ['into 7 parts', sevenths],
  ] as const) {
    test(`${name}: split ${where} and joined`, () => {
      const parts = partsAt(cuts)
      says(parts, text)
      says([join(parts)], text)
      assert.ok(join(parts).body.bytes.equals(join([pane]).body.bytes))
      // Panes that were fetched or copied apart no longer share their columns.
      says(
        parts.map((each) => join([each])),
        text,
      )
    })
  }

  test(`${name}: a part equals the database’s answer for it`, () => {
    for (const [from, to] of [
      [0, buckets >> 1],
      [buckets >> 1, buckets],
      [3, 4],
    ] as const) {
      says([part(from, to)], answer(form, { from, to }))
    }
  })

  test(`${name}: a tail that was fetched again replaces all columns at once`, () => {
    const tailFrom = buckets - Math.min(12, buckets >> 1)
    const tail = { from: tailFrom, to: buckets + 1 }
    const newer = cut(answer(form, tail, tailFrom), tail, refetchedAt)
    const expected = answer(form, { from: 0, to: buckets + 1 }, tailFrom)
    const panes = layOver([pane], newer)
    says(panes, expected)
    says([join(panes)], expected)
    // An older answer about the same buckets changes nothing.
    says(layOver(panes, part(tailFrom - 1, buckets)), expected)
  })
}
