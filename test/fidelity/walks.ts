/**
 * Seeded sequences of windows over one query, as viewers make them: sliding, zooming, panning, jumping, coming back. A
 * walk keeps its query, step and phase, so an interval cache can reuse the buckets that it has fetched.
 */
import { type Random, seededRandom } from './random.ts'

/** Milliseconds; `end` is inclusive and need not lie on the grid. */
export interface Window {
  readonly start: number
  readonly end: number
  readonly step: number
}

/** The time covered by the data. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Windows on one grid, by the number of the first instant and the count of instants. */
export interface Frame {
  readonly first: number
  readonly points: number
}

/** Where frames may lie, by the numbers of the first and last instant with data, and how wide they may be. */
export interface Ground {
  readonly lowest: number
  readonly highest: number
  readonly maxPoints: number
}

interface Trail extends Ground {
  readonly visited: Frame[]
  readonly random: Random
}

const steps = [1000, 2500, 7000, 10_000, 15_000, 30_000, 60_000, 61_337, 300_000, 3_600_000] as const

/** Weights: about two thirds of the moves go where something may be missing, the others stay on known ground. */
const moves = {
  slide: 40,
  panLeft: 10,
  overlap: 8,
  zoomOut: 8,
  jump: 3,
  repeat: 10,
  zoomIn: 11,
  single: 4,
  back: 6,
} as const

type Move = keyof typeof moves
const movers: Record<Move, (frame: Frame, trail: Trail) => Frame> = {
  slide: (frame, { random }) => ({ ...frame, first: frame.first + random.int(1, slideReach(frame, random)) }),
  panLeft: (frame, { random }) => ({
    ...frame,
    first: frame.first - random.int(1, slideReach(frame, random)),
  }),
  overlap: (frame, { random }) => ({
    first: frame.first + Math.round(frame.points * (random.next() * 1.4 - 0.7)),
    points: frame.points,
  }),
  zoomOut: (frame, { random }) => {
    const before = random.int(1, frame.points)
    return { first: frame.first - before, points: frame.points + before + random.int(0, frame.points) }
  },
  jump: (frame, trail) => ({ first: anywhere(trail, frame.points), points: frame.points }),
  repeat: (frame) => frame,
  zoomIn: (frame, { random }) => {
    const points = random.int(Math.max(1, Math.floor(frame.points / 4)), frame.points)
    return { first: frame.first + random.int(0, frame.points - points), points }
  },
  single: (frame, { random }) => ({ first: frame.first + random.int(0, frame.points), points: 1 }),
  back: (_, { visited, random }) => random.pick(visited),
}

const slideReach = (frame: Frame, random: Random) =>
  random.chance(0.7) ? 5 : Math.max(1, Math.floor(frame.points / 3))

/** `count` windows on one grid that never leave the data by more than a few points. */
export function walkWindows(span: Span, count: number, random: Random): Window[] {
  const step = random.pick(steps)
  const phase = drawPhase(step, random)
  const frames = walkFrames(groundOf(span, { step, phase }, random), random)
  const windows: Window[] = []
  while (windows.length < count) windows.push(toWindow(frames.next().value, { step, phase }, random))
  return windows
}

/** Frames without end; a walk ends when its walker has enough. */
export function* walkFrames(ground: Ground, random: Random): Generator<Frame, never> {
  const trail: Trail = { ...ground, visited: [], random }
  // A single point or a deep zoom is a glance aside: the walk goes on from the frame before it.
  let base = firstFrame(trail)
  let frame = base
  while (true) {
    trail.visited.push(frame)
    yield frame
    const move = random.weighted(moves)
    frame = clamp(movers[move](base, trail), trail)
    if (frame.points >= base.points / 2) base = frame
  }
}

/** The whole data at one step: a fixed window for forms whose point is its size. */
export const fixedWindow = (span: Span, stepMs: number, points: number): Window => ({
  start: span.from,
  end: span.from + (points - 1) * stepMs,
  step: stepMs,
})

function drawPhase(step: number, random: Random): number {
  const kind = random.weighted({ zero: 45, odd: 35, half: 20 })
  if (kind === 'zero') return 0
  return kind === 'half' ? Math.floor(step / 2) : random.int(1, step - 1)
}

function groundOf(span: Span, grid: { step: number; phase: number }, random: Random): Ground {
  const lowest = Math.ceil((span.from - grid.phase) / grid.step)
  const highest = Math.floor((span.to - grid.phase) / grid.step)
  return { lowest, highest, maxPoints: random.chance(0.01) ? 4000 : 260 }
}

function firstFrame(trail: Trail): Frame {
  const { random, highest, lowest, maxPoints } = trail
  const available = highest - lowest + 1
  const wanted = maxPoints > 1000 ? random.int(500, 2500) : random.int(20, random.chance(0.2) ? 200 : 70)
  const points = Math.max(2, Math.min(wanted, Math.floor(available / 2)))
  return { first: anywhere(trail, points), points }
}

const anywhere = ({ random, lowest, highest }: Trail, points: number) =>
  random.int(lowest, Math.max(lowest, highest - points + 1))

/** Windows may look past the data, as dashboards do, but only by a few points: the suite is about answers. */
function clamp(frame: Frame, trail: Trail): Frame {
  const points = Math.max(1, Math.min(frame.points, trail.maxPoints))
  const overhang = Math.min(5, Math.floor(points / 4))
  const first = Math.min(
    Math.max(frame.first, trail.lowest - overhang),
    trail.highest + overhang - points + 1,
  )
  return { first, points }
}

function toWindow(frame: Frame, grid: { step: number; phase: number }, random: Random): Window {
  const start = grid.phase + frame.first * grid.step
  const last = start + (frame.points - 1) * grid.step
  const beyond = random.chance(0.25) ? random.int(1, grid.step - 1) : 0
  return { start, end: last + beyond, step: grid.step }
}

/** How many windows a walk has: walks that a cache cannot help are short, so that the suite stays about the cache. */
export function walkLength(cacheable: boolean, random: Random): number {
  return cacheable ? random.int(7, 12) : random.int(2, 5)
}

/** The generator of one numbered walk of a seeded run. */
export const walkRandom = (seed: number, walk: number): Random => seededRandom(seed, walk)
