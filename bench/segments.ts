/**
 * A day in front of a Druid, with and without watching its segments: `npm run bench:segments`. Simulated on a fake
 * clock with a fake Druid; the number of fetched buckets, and the share of served buckets that are out of date. Exits
 * with 1 where a mark is missed.
 */

import { segments } from '../src/backends/druid/segments.ts'
import type { SegmentView } from '../src/backends/segment-watch.ts'
import { systemClock } from '../src/core/clock.ts'
import { seededRandom, wholeNumber } from '../src/testing/random.ts'
import { type Panel, SegmentRig, type SegmentRigOptions, usualSegments } from '../test/rigs/segment-rig.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The panel of one viewer; each ends with the last whole bucket. */
interface Habit {
  readonly name: string
  readonly granularity: Panel['granularity']
  readonly stepMs: number
  readonly windowMs: number
  readonly refreshMs: number
}

const habits: readonly Habit[] = [
  { name: '24 h by 5 min', granularity: 'five_minute', stepMs: 5 * minute, windowMs: day, refreshMs: minute },
  {
    name: '7 d by 5 min',
    granularity: 'five_minute',
    stepMs: 5 * minute,
    windowMs: 7 * day,
    refreshMs: 5 * minute,
  },
  { name: '30 d by hour', granularity: 'hour', stepMs: hour, windowMs: 30 * day, refreshMs: 15 * minute },
]

const stepMs = 30 * second
/** Late rows, at any time of the day, for some time of the last week. */
const appends = 24
/** Younger buckets are still changing in every case: they are subject to the policy. */
const settledMs = 15 * minute
const largeView = 100_000
const chunkBytes = 64 * 1024

interface Day {
  readonly name: string
  fetched: number
  queries: number
  looks: number
  shown: number
  /** Settled buckets that were shown and had changed before. */
  outdated: number
  /** From the arrival of late rows to the first answer that has them, of a panel that requested them. */
  readonly delays: number[]
}

interface Late {
  readonly at: number
  readonly piece: number
  /** Panels that have not shown it yet. */
  readonly unseen: Set<Habit>
}

async function live(name: string, options: SegmentRigOptions): Promise<Day> {
  const rig = new SegmentRig(options)
  const random = seededRandom(7)
  const told: Day = { name, fetched: 0, queries: 0, looks: 0, shown: 0, outdated: 0, delays: [] }
  const late: Late[] = []
  let looksBefore = 0
  const begin = rig.clock.now()
  // The first hours fill the cache: a typical day is counted.
  const counting = begin + 4 * hour
  const steps = Array.from({ length: appends }, () => wholeNumber(random, 0, day / stepMs - 1))
  const arrivals = new Set(steps.map((step) => counting + step * stepMs))
  for (let now = begin; now < counting + day; now += stepMs) {
    for (const habit of habits) {
      if ((now - begin) % habit.refreshMs === 0)
        await look(rig, habit, { told, late, isCounted: now >= counting })
    }
    if (now === counting) looksBefore = rig.druid.looks
    if (arrivals.has(now)) {
      const piece = Math.floor((now - wholeNumber(random, 4 * hour, 6 * day)) / (5 * minute)) * 5 * minute
      rig.druid.append(piece)
      late.push({ at: now, piece, unseen: new Set(habits) })
    }
    await rig.clock.advance(stepMs)
  }
  told.looks = rig.druid.looks - looksBefore
  return told
}

interface Looking {
  readonly told: Day
  readonly late: readonly Late[]
  readonly isCounted: boolean
}

async function look(rig: SegmentRig, habit: Habit, { told, late, isCounted }: Looking): Promise<void> {
  const now = rig.clock.now()
  const to = Math.floor(now / habit.stepMs) * habit.stepMs
  const panel = { ...habit, from: to - habit.windowMs, to }
  const before = rig.druid.asked.length
  const { text, truth, fetched } = await rig.ask(panel)
  if (!isCounted) return
  told.fetched += fetched
  told.queries += rig.druid.asked.length - before
  told.shown += habit.windowMs / habit.stepMs
  const differing = text === truth ? new Set<number>() : startsOfDiffering(text, truth)
  for (const start of differing) if (now - start - habit.stepMs > settledMs) told.outdated++
  for (const each of late) {
    const start = Math.floor(each.piece / habit.stepMs) * habit.stepMs
    if (start < panel.from || !each.unseen.has(habit) || differing.has(start)) continue
    each.unseen.delete(habit)
    told.delays.push(now - each.at)
  }
}

interface Row {
  readonly timestamp: string
  readonly result: { readonly n: number }
}

function startsOfDiffering(text: string, truth: string): Set<number> {
  const [shown, rows] = [JSON.parse(text) as Row[], JSON.parse(truth) as Row[]]
  const differing = rows.filter(({ result }, i) => shown[i]!.result.n !== result.n)
  return new Set(differing.map(({ timestamp }) => Date.parse(timestamp)))
}

const quantile = (values: readonly number[], of: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * of))] ?? 0

const inMinutes = (ms: number): string => `${(ms / minute).toFixed(1)} min`

/** The cost of one poll: a view of many segments, read as it arrives, and compared with the one before. */
function readLargeView(): string {
  const lines = Array.from({ length: largeView }, (_, i) => {
    const at = Date.UTC(2020, 0, 1) + Math.floor(i / 8) * hour
    const [from, to] = [at, at + hour].map((instant) => new Date(instant).toISOString())
    return JSON.stringify([`source_${i % 4}`, from, to, '2026-01-01T00:00:00.000Z', i % 8, 0])
  })
  const header = '["datasource","start","end","version","partition_num","is_realtime"]'
  const body = Buffer.from([header, ...lines, '', ''].join('\n'))
  const read = (): { view: SegmentView; longestMs: number; ms: number } => {
    const reader = segments.reader()
    const began = systemClock.elapsed()
    let longestMs = 0
    for (let from = 0; from < body.length; from += chunkBytes) {
      const chunkBegan = systemClock.elapsed()
      reader.write(body.subarray(from, from + chunkBytes))
      longestMs = Math.max(longestMs, systemClock.elapsed() - chunkBegan)
    }
    const lastBegan = systemClock.elapsed()
    const view = reader.end(200)
    if ('unreadable' in view) throw new Error(view.unreadable)
    const now = systemClock.elapsed()
    return { view, longestMs: Math.max(longestMs, now - lastBegan), ms: now - began }
  }
  const [before, after] = [read(), read()]
  const began = systemClock.elapsed()
  segments.changes(before.view, after.view)
  const comparedMs = systemClock.elapsed() - began
  const times = `read in ${after.ms.toFixed(0)} ms, at most ${after.longestMs.toFixed(0)} ms at a time`
  return `${largeView} segments (${(body.length / 1e6).toFixed(1)} MB): ${times}; compared in ${comparedMs.toFixed(0)} ms`
}

const [without, watched] = [
  await live('TTL policy alone', {}),
  await live('segments watched', { segments: usualSegments }),
]
const refreshes = habits.map(({ name, refreshMs }) => `${name} every ${refreshMs / minute} min`).join(', ')
console.log(`A day of ${refreshes}; ${appends} late appends, one compaction\n`)
console.log(`|  | ${[without, watched].map(({ name }) => name).join(' | ')} |\n| --- | --- | --- |`)
const row = (title: string, of: (told: Day) => number | string): void =>
  console.log(`| ${title} | ${of(without)} | ${of(watched)} |`)
row('buckets fetched', ({ fetched }) => fetched)
row('queries', ({ queries }) => queries)
row('looks at the segments', ({ looks }) => looks)
row('settled buckets shown outdated', ({ outdated, shown }) => `${outdated} of ${shown}`)
for (const [title, of] of [
  ['median', 0.5],
  ['90 %', 0.9],
  ['longest', 1],
] as const) {
  row(`late rows are shown after, ${title}`, ({ delays }) => inMinutes(quantile(delays, of)))
}
console.log(`\n${readLargeView()}`)
const ratio = without.fetched / watched.fetched
console.log(`${ratio.toFixed(1)} × fewer buckets fetched`)
if (!(ratio > 3 && watched.outdated < without.outdated / 5)) process.exitCode = 1
