/** Windows over the buckets of a form, as viewers make them: mostly aligned, some not, some in several pieces. */
import { gridOf } from '../../../src/backends/druid/granularity.ts'
import { bucketAt, bucketFrom, type Grid, startOf } from '../../../src/core/grid.ts'
import type { Random } from '../../fidelity/random.ts'
import { type Frame, type Ground, type Span, walkFrames } from '../../fidelity/walks.ts'
import { wikiSpans } from '../data/wiki.ts'
import { yearsSpan } from '../data/years.ts'
import type { DataSet, Form } from './form.ts'

export const dataSpans: Readonly<Record<DataSet, readonly Span[]>> = {
  tiny: [{ from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 6) }],
  wiki: wikiSpans,
  years: [yearsSpan],
}

const wide = 45 * 86_400_000

/** Where the form's buckets begin about its data. Windows are chosen by it, never judged. */
export function bucketGrid({ name, buckets, dataSet }: Pick<Form, 'name' | 'buckets' | 'dataSet'>): Grid {
  const spans = dataSpans[dataSet]
  const range = { from: spans[0]!.from - wide, to: spans.at(-1)!.to + wide }
  const found = gridOf(buckets, range)
  if (!('bypass' in found)) return found
  throw new Error(`${name}: windows cannot be chosen by ${JSON.stringify(buckets)}: ${found.detail}`)
}

/** `count` windows, each of them one span or several. */
export function walkSpans(form: Form, count: number, random: Random): (readonly Span[])[] {
  const grid = bucketGrid(form)
  const frames = walkFrames(groundOf(grid, random.pick(dataSpans[form.dataSet])), random)
  const isCrooked = random.chance(0.2)
  const windows: (readonly Span[])[] = []
  while (windows.length < count) {
    const frame = frames.next().value
    const span = random.chance(isCrooked ? 0.7 : 0.05)
      ? crookedSpan(grid, frame, random)
      : straight(grid, frame)
    const isCut = form.isSingle !== true && random.chance(0.1)
    windows.push(isCut ? cut(grid, span, random) : [span])
  }
  return windows
}

function groundOf(grid: Grid, { from, to }: Span): Ground {
  return { lowest: bucketAt(grid, from), highest: bucketFrom(grid, to) - 1, maxPoints: 200 }
}

const straight = (grid: Grid, { first, points }: Frame): Span => ({
  from: startOf(grid, first),
  to: startOf(grid, first + points),
})

/** Begins or ends, or both, within a bucket; it may lie in one bucket as a whole. */
function crookedSpan(grid: Grid, frame: Frame, random: Random): Span {
  const { from, to } = straight(grid, frame)
  const which = random.weighted({ begin: 1, end: 1, both: 2 })
  const lateBegin = which === 'end' ? from : within(from, startOf(grid, frame.first + 1), random)
  const last = frame.first + frame.points - 1
  const earlyEnd = which === 'begin' ? to : within(Math.max(lateBegin, startOf(grid, last)), to, random)
  return { from: lateBegin, to: Math.max(earlyEnd, lateBegin + 1) }
}

/** People and programs like whole minutes better than milliseconds. */
function within(from: number, to: number, random: Random): number {
  const raw = random.int(from, to - 1)
  const unit = random.pick([60_000, 60_000, 1000, 1])
  const round = Math.ceil(raw / unit) * unit
  return round < to ? round : raw
}

/** Two or three pieces: apart from each other, abutting, overlapping, in any order, perhaps in one bucket. */
function cut(grid: Grid, { from, to }: Span, random: Random): readonly Span[] {
  const place = () => {
    const raw = random.int(from, to - 1)
    return random.chance(0.6) ? Math.max(from, startOf(grid, bucketAt(grid, raw))) : raw
  }
  const pieces = Array.from({ length: random.int(2, 3) }, () => {
    const [a, b] = [place(), place()]
    return { from: Math.min(a, b), to: a === b ? to : Math.max(a, b) }
  })
  return random.chance(0.3) ? [...pieces, { from, to }].filter(isSpan) : pieces.filter(isSpan)
}

const isSpan = ({ from, to }: Span): boolean => from < to
