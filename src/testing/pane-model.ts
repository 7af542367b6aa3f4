/**
 * A pane as plain maps, for tests and the published suites: random fetches, the pane a fetch becomes, and the content
 * of a pane. Reading follows the documented layout word by word instead of calling the pane, so that it can disagree.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Interval } from '../core/interval.ts'
import type { NoteSet, Pane } from '../core/pane.ts'
import { PaneBuilder } from '../core/pane-builder.ts'
import { headBytes } from '../core/pane-rows.ts'

export interface ColumnModel {
  readonly head: string
  /** Per lane: bucket → its bytes, separator included. Buckets without bytes are not in it. */
  readonly lanes: readonly Map<number, string>[]
}

export interface PaneModel {
  readonly frame: string
  /** Only buckets that are not absent. */
  readonly clocks: Map<number, EpochMs>
  readonly notes: Map<number, NoteSet>
  /** By rank, as latin1 text; only columns with bytes. */
  readonly columns: Map<string, ColumnModel>
}

/** Draws a whole number between `min` and `max`, both included. */
export type Dice = (min: number, max: number) => number

export interface FetchTerms {
  readonly interval: Interval
  readonly fetchedAt: EpochMs
  readonly frame?: string
}

/** One answer of a database: every bucket has the same clock and the same notes. */
export interface FetchModel extends FetchTerms {
  readonly notes: NoteSet
  readonly columns: readonly (readonly [rank: string, column: ColumnModel])[]
}

/** Ranks that are prefixes of each other, the empty one and the extreme bytes among them. */
const ranks = [
  '',
  '\x00',
  '\x00\xff',
  'a',
  'a\x00',
  'a\x00b',
  'ab',
  'b',
  'ba',
  'z\x01',
  '\x7f',
  '\xff',
  '\xff\x00',
]
const noteSets: readonly NoteSet[] = [[], [], ['i"one"'], ['i"one"', 'w"two"'], ['w"two"']]

export const lanesOfModels = 2

export function randomFetch(dice: Dice, terms: FetchTerms): FetchModel {
  const columns: [string, ColumnModel][] = []
  for (const rank of ranks) {
    if (dice(0, 2) > 0) continue
    const lanes = [randomLane(dice, terms.interval), randomLane(dice, terms.interval)]
    columns.push([rank, { head: `{${rank}}`, lanes }])
  }
  return { ...terms, notes: noteSets[dice(0, noteSets.length - 1)]!, columns }
}

/** Nothing, everything, with holes, a part, or two parts with a pause between. */
function randomLane(dice: Dice, { from, to }: Interval): Map<number, string> {
  const cells = new Map<number, string>()
  const kind = dice(0, 4)
  if (kind === 0 || from >= to) return cells
  const first = dice(from, to - 1)
  const last = dice(first, to - 1)
  for (let bucket = from; bucket < to; bucket++) {
    if (kind === 2 && dice(0, 1) === 0) continue
    if (kind === 3 && (bucket < first || bucket > last)) continue
    if (kind === 4 && bucket >= first && bucket <= last) continue
    cells.set(bucket, `${'x'.repeat(dice(0, 3))}${bucket},`)
  }
  return cells
}

/** The pane that a sink would build; between columns the slab holds unused bytes. */
export function paneOfFetch(fetch: FetchModel): Pane {
  const builder = new PaneBuilder(lanesOfModels)
  let slab = 'envelope['
  const append = (text: string): number => {
    slab += text
    return slab.length
  }
  for (const [rank, column] of fetch.columns) {
    const headStart = append('<')
    builder.beginColumn(headStart, append(column.head), Buffer.from(rank, 'latin1'))
    column.lanes.forEach((cells, lane) => {
      append(`lane ${lane}[`)
      builder.beginLane(lane)
      for (const [bucket, text] of cells) {
        builder.bucket(bucket - fetch.interval.from, slab.length)
        append(text)
      }
      builder.endLane(slab.length)
    })
    append('>')
  }
  return builder.finish({
    interval: fetch.interval,
    fetchedAt: fetch.fetchedAt,
    slab: Buffer.from(slab, 'latin1'),
    frame: Buffer.from(fetch.frame ?? ''),
    notes: fetch.notes,
  })
}

export function modelOfFetch(fetch: FetchModel): PaneModel {
  const model: PaneModel = {
    frame: fetch.frame ?? '',
    clocks: new Map(),
    notes: new Map(),
    columns: new Map(fetch.columns.filter(([, column]) => column.lanes.some((cells) => cells.size > 0))),
  }
  for (let bucket = fetch.interval.from; bucket < fetch.interval.to; bucket++) {
    model.clocks.set(bucket, fetch.fetchedAt)
    if (fetch.notes.length > 0) model.notes.set(bucket, fetch.notes)
  }
  return model
}

export function modelOf(pane: Pane): PaneModel {
  const { body, from, to } = pane
  const clocks = new Map<number, EpochMs>()
  const notes = new Map<number, NoteSet>()
  const sets = body.notes
  for (let bucket = from; bucket < to; bucket++) {
    const clock = body.f64[body.clocksAt + bucket - body.from]!
    if (!Number.isNaN(clock)) clocks.set(bucket, clock)
    const index = body.noteIndexAt > 0 ? body.u32[body.noteIndexAt + bucket - body.from]! : 0
    if (index > 0) notes.set(bucket, sets[index - 1]!)
  }
  const columns = new Map<string, ColumnModel>()
  for (let column = 0; column < body.columns; column++) {
    const lanes = Array.from({ length: body.lanes }, (_, lane) => cellsOf(pane, column, lane))
    if (lanes.every((cells) => cells.size === 0)) continue
    const rank = body.bytes.toString('latin1', body.rankStart(column), body.rankEnd(column))
    columns.set(rank, { head: headBytes(pane, column).toString('latin1'), lanes })
  }
  return { frame: body.frame.toString(), clocks, notes, columns }
}

function cellsOf({ body, from, to }: Pane, column: number, lane: number): Map<number, string> {
  const span = body.columnsAt + column * body.stride + 3 + 3 * lane
  const [first, length, table] = [body.u32[span]!, body.u32[span + 1]!, body.u32[span + 2]!]
  const cells = new Map<number, string>()
  for (let i = 0; i < length; i++) {
    const bucket = body.from + first + i
    const start = body.u32[body.tablesAt + table + i]!
    const end = body.u32[body.tablesAt + table + i + 1]!
    if (bucket < from || bucket >= to || start === end) continue
    cells.set(bucket, body.bytes.toString('latin1', body.slabAt + start, body.slabAt + end))
  }
  return cells
}

/** The buckets of several disjoint models in one; heads and frame are those of the first that has them. */
export function unite(models: readonly PaneModel[]): PaneModel {
  const united: PaneModel = {
    frame: models[0]?.frame ?? '',
    clocks: new Map(models.flatMap((model) => [...model.clocks])),
    notes: new Map(models.flatMap((model) => [...model.notes])),
    columns: new Map(),
  }
  for (const model of models) {
    for (const [rank, column] of model.columns) {
      const known = united.columns.get(rank)
      const lanes = column.lanes.map((cells, lane) => new Map([...(known?.lanes[lane] ?? []), ...cells]))
      united.columns.set(rank, { head: known?.head ?? column.head, lanes })
    }
  }
  return united
}

/** The buckets of a model for which `keeps` holds, over all columns at once. */
export function restrict(model: PaneModel, keeps: (bucket: number) => boolean): PaneModel {
  const only = <T>(map: Map<number, T>) => new Map([...map].filter(([bucket]) => keeps(bucket)))
  const columns = [...model.columns]
    .map(([rank, { head, lanes }]) => [rank, { head, lanes: lanes.map(only) }] as const)
    .filter(([, { lanes }]) => lanes.some((cells) => cells.size > 0))
  return { ...model, clocks: only(model.clocks), notes: only(model.notes), columns: new Map(columns) }
}

/** Per bucket the content of the fetch with the newest clock, whatever the order of arrival. */
export function newestWins(fetches: readonly FetchModel[]): PaneModel {
  const winner = new Map<number, EpochMs>()
  for (const { interval, fetchedAt } of fetches) {
    for (let bucket = interval.from; bucket < interval.to; bucket++) {
      winner.set(bucket, Math.max(fetchedAt, winner.get(bucket) ?? Number.NEGATIVE_INFINITY))
    }
  }
  const parts = fetches.map((fetch) =>
    restrict(modelOfFetch(fetch), (bucket) => winner.get(bucket) === fetch.fetchedAt),
  )
  return unite(parts)
}

/** Dice that read their throws from bytes, so that a property-testing library can shrink them; then the smallest. */
export function diceOf(bytes: Uint8Array): Dice {
  let next = 0
  return (min, max) => min + ((bytes[next++] ?? 0) % (max - min + 1))
}
