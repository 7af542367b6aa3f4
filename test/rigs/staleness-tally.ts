/** Counts how many of the buckets that viewers were shown were out of date, by hour of the simulation and by age. */

import assert from 'node:assert/strict'
import type { Recomposed } from '../../src/backends/backend.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import type { Pane } from '../../src/core/pane.ts'
import { bucketMs, type Truth } from './changing-database.ts'

const minute = 60_000
const hour = 60 * minute

/** Ages from which a class begins; the first also has the bucket that is not over yet. */
export const tallyAges: readonly number[] = [
  ...[Number.NEGATIVE_INFINITY, 60, 120, 180, 240, 300, 420, 600, 840, 1200, 1680, 2400, 3360, 3600, 4800],
  ...[6720, 9600, 13_440, 19_200, 21_600, 26_880, 38_400, 54_000, 76_800],
].map((seconds) => 1000 * seconds)

/** Classes are shown in these groups. */
export const ageGroups = [
  { label: '<2 min', fromMs: Number.NEGATIVE_INFINITY, toMs: 2 * minute },
  { label: '2–10 min', fromMs: 2 * minute, toMs: 10 * minute },
  { label: '10–60 min', fromMs: 10 * minute, toMs: hour },
  { label: '1–6 h', fromMs: hour, toMs: 6 * hour },
  { label: '>6 h', fromMs: 6 * hour, toMs: Number.POSITIVE_INFINITY },
] as const

/** Buckets shown, and those of them that were out of date. */
export interface Shown {
  shown: number
  stale: number
}

export interface ServedAnswer extends Truth {
  readonly panes: readonly Pane[]
  readonly now: EpochMs
}

export class StalenessTally {
  readonly #hours: Shown[][] = []
  readonly #startMs: EpochMs

  constructor(startMs: EpochMs) {
    this.#startMs = startMs
  }

  add({ panes, now, lastChanges }: ServedAnswer): void {
    const classes = this.#classesAt(now)
    for (const { from, to, body } of panes) {
      const clocks = body.f64
      const shift = body.clocksAt - body.from
      let bucket = from
      while (bucket < to) {
        const index = classOfAge(now - (bucket + 1) * bucketMs)
        // Buckets become younger: the class ends where its youngest bucket does.
        const end = Math.min(to, Math.floor((now - tallyAges[index]!) / bucketMs))
        const tally = classes[index]!
        const first = bucket
        let { stale } = tally
        let place = bucket % lastChanges.length
        for (; bucket < end; bucket++) {
          if (lastChanges[place]! > clocks[bucket + shift]!) stale++
          if (++place === lastChanges.length) place = 0
        }
        tally.shown += bucket - first
        tally.stale = stale
      }
    }
  }

  /** Per class, over the hours [from, to). */
  classes(fromHour: number, toHour: number, weightOf: (hour: number) => number = () => 1): Shown[] {
    const sums = newClasses()
    for (let at = fromHour; at < Math.min(toHour, this.#hours.length); at++) {
      const weight = weightOf(at)
      this.#hours[at]?.forEach(({ shown, stale }, i) => {
        sums[i]!.shown += weight * shown
        sums[i]!.stale += weight * stale
      })
    }
    return sums
  }

  #classesAt(now: EpochMs): Shown[] {
    const at = Math.floor((now - this.#startMs) / hour)
    this.#hours[at] ??= newClasses()
    return this.#hours[at]
  }
}

const newClasses = (): Shown[] => tallyAges.map(() => ({ shown: 0, stale: 0 }))

function classOfAge(ageMs: number): number {
  let index = tallyAges.length - 1
  while (ageMs < tallyAges[index]!) index--
  return index
}

/** The stale share of each group, of its classes that `counts` keeps; undefined where nothing was shown. */
export function byGroup(
  classes: readonly Shown[],
  counts: (classIndex: number) => boolean = () => true,
): (number | undefined)[] {
  return ageGroups.map(({ fromMs, toMs }) => {
    const sum = { shown: 0, stale: 0 }
    classes.forEach(({ shown, stale }, i) => {
      if (tallyAges[i]! < fromMs || tallyAges[i]! >= toMs || !counts(i)) return
      sum.shown += shown
      sum.stale += stale
    })
    return sum.shown === 0 ? undefined : sum.stale / sum.shown
  })
}

/** Checks that the text of an answer has an old version in exactly the buckets that are stale by their clocks. */
export function checkText({ panes, lastChanges, versionOf }: ServedAnswer, body: Recomposed): void {
  const target = Buffer.alloc(body.length)
  body.write(target)
  const { rows } = JSON.parse(target.toString('latin1')) as { rows: readonly (readonly [number, number])[] }
  let at = 0
  for (const { from, to, body } of panes) {
    for (let bucket = from; bucket < to; bucket++) {
      const [start, version] = rows[at++]!
      const clock = body.f64[bucket + body.clocksAt - body.from]!
      assert.equal(start, bucket * bucketMs)
      assert.equal(version !== versionOf(bucket), lastChanges[bucket % lastChanges.length]! > clock)
    }
  }
  assert.equal(at, rows.length)
}
