/** Figures of several nodes as those of one. */
import type { Figures } from '../../engine/shadow/log.ts'
import { durationBounds } from '../../telemetry/histograms.ts'
import type { ShapeRow } from '../../telemetry/shapes.ts'
import type { Counts } from './summary.ts'

/** A shape as several nodes saw it. */
export interface FleetShape extends ShapeRow {
  /** How many of them. */
  readonly nodes: number
}

/** The most requested first. */
export function mergeShapes(perNode: readonly (readonly ShapeRow[])[], limit: number): readonly FleetShape[] {
  const merged = new Map<string, FleetShape>()
  for (const row of perNode.flat()) {
    const id = row.key ?? `${row.backend} ${row.shape}`
    const known = merged.get(id)
    merged.set(id, known === undefined ? { ...row, nodes: 1 } : bothShapes(known, row))
  }
  return [...merged.values()].sort((a, b) => b.count - a.count).slice(0, limit)
}

function bothShapes(a: FleetShape, b: ShapeRow): FleetShape {
  const newer = b.lastAt > a.lastAt ? b : a
  return {
    ...a,
    // Nodes send shortened texts.
    shape: b.shape.length > a.shape.length ? b.shape : a.shape,
    since: Math.min(a.since, b.since),
    lastAt: newer.lastAt,
    count: a.count + b.count,
    outcomes: addCounts([a.outcomes, b.outcomes]),
    bytes: a.bytes + b.bytes,
    totalSeconds: a.totalSeconds + b.totalSeconds,
    savedSeconds: a.savedSeconds + b.savedSeconds,
    asked: a.asked + b.asked,
    askedSeconds: a.askedSeconds + b.askedSeconds,
    notCached: newer.notCached ?? a.notCached ?? b.notCached,
    nodes: a.nodes + 1,
  }
}

export function mergeFigures(all: readonly Readonly<Figures>[]): Figures {
  const sum = (of: 'comparisons' | 'equal' | 'explained' | 'unexplained'): number =>
    all.reduce((total, figures) => total + figures[of], 0)
  const { hit = 0, partial = 0, miss = 0 } = addCounts(all.map(({ wouldBe }) => wouldBe))
  return {
    since: Math.min(...all.map(({ since }) => since)),
    comparisons: sum('comparisons'),
    equal: sum('equal'),
    explained: sum('explained'),
    unexplained: sum('unexplained'),
    skipped: addCounts(all.map(({ skipped }) => skipped)),
    wouldBe: { hit, partial, miss },
    causes: addCounts(all.map(({ causes }) => causes)),
  }
}

export function addCounts(all: readonly Readonly<Partial<Record<string, number>>>[]): Counts {
  const sums: Record<string, number> = {}
  for (const [name, count = 0] of all.flatMap(Object.entries) as [string, number | undefined][]) {
    sums[name] = (sums[name] ?? 0) + count
  }
  return sums
}

/** Place by place. */
export function addLists(all: readonly (readonly number[])[]): readonly number[] {
  const length = Math.max(0, ...all.map((each) => each.length))
  return Array.from({ length }, (_, i) => all.reduce((sum, each) => sum + (each[i] ?? 0), 0))
}

/** From counts per bound of `durationBounds`, in seconds; undefined where nothing was counted. */
export function quantileOf(counts: readonly number[], quantile: number): number | undefined {
  const total = counts.reduce((a, b) => a + b, 0)
  if (total === 0) return undefined
  let below = 0
  for (const [i, count] of counts.entries()) {
    const upper = durationBounds[i]
    // Beyond the last bound nothing more is known.
    if (upper === undefined) return durationBounds.at(-1)!
    if (count > 0 && below + count >= quantile * total) {
      const lower = i === 0 ? 0 : durationBounds[i - 1]!
      return lower + (upper - lower) * ((quantile * total - below) / count)
    }
    below += count
  }
  return durationBounds.at(-1)!
}
