/**
 * Shapes learn from the data sources that they read, and sources from their backend: every refetch is counted at each
 * of these levels, and a level with too few observations uses the rates of the one above it. On top is the published
 * ladder.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Clock } from '../../core/clock.ts'
import type { LearnedShape, LearnedTerms, RateSource, Refetch } from './learning.ts'
import { type Belief, Level, mostChanging, oneSided80, priorBelief } from './level.ts'

const tickMs = 60_000
/** An alarm brings the next tick forward, but not every request may fit the rates again. */
const alarmTickMs = 5_000
/** Of one shape: a query may name hundreds of metrics. */
const maxSourcesOfShape = 8

export interface HierarchyOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly maxShapes: number
  readonly maxSources: number
}

/** The levels of a shape that have seen anything; of the backend as a whole without a shape. */
export interface Chain {
  readonly backend: Level
  readonly sources: readonly Level[]
  readonly shape: Level | undefined
}

/** The belief of the lowest level of a chain, if the topmost one starts from `prior`. */
export function beliefOf({ backend, sources, shape }: Chain, prior: Belief, z = oneSided80): Belief {
  const above = backend.estimate(prior, z)
  const parent =
    sources.length === 0 ? above : mostChanging(sources.map((source) => source.estimate(above, z)))
  return shape === undefined ? parent : shape.estimate(parent, z)
}

export class Hierarchy {
  readonly #options: HierarchyOptions
  readonly #backend: Level
  readonly #sources: BoundedMap<string, Level>
  readonly #shapes: BoundedMap<string, Level>
  /** The largest terms of all policies. They decide how long evidence is kept. */
  #reference: Pick<LearnedTerms, 'budget' | 'capMs'> | undefined
  #prior = priorBelief(0.01)
  #tickedAt: number
  #isAlarmed = false
  /** Which levels are up to date with the last tick. */
  #refreshed = new WeakSet<Level>()
  #generation = 0

  constructor(options: HierarchyOptions) {
    this.#options = options
    this.#tickedAt = options.clock.now()
    this.#sources = new BoundedMap({ maxEntries: options.maxSources })
    this.#shapes = new BoundedMap({ maxEntries: options.maxShapes })
    this.#backend = new Level('backend', '', { at: this.#tickedAt, parent: this.#prior })
  }

  /** Rises when the beliefs of levels may have changed. */
  generation(): number {
    const elapsed = this.#options.clock.now() - this.#tickedAt
    // A clock that was set back ticks, too: otherwise nothing would be learned until it has caught up.
    if (elapsed >= tickMs || elapsed < 0 || (this.#isAlarmed && elapsed >= alarmTickMs)) this.tick()
    return this.#generation
  }

  /** Lets every level fit its rates before it is used again. */
  tick(): void {
    this.#tickedAt = this.#options.clock.now()
    this.#isAlarmed = false
    this.#refreshed = new WeakSet()
    this.#generation++
  }

  /** Registers the terms of a policy. */
  expect({ budget, capMs }: LearnedTerms): void {
    const before = this.#reference
    if (before !== undefined && budget <= before.budget && capMs <= before.capMs) return
    this.#reference = {
      budget: Math.max(budget, before?.budget ?? 0),
      capMs: Math.max(capMs, before?.capMs ?? 0),
    }
    this.#prior = priorBelief(this.#reference.budget)
    this.tick()
  }

  observe(refetch: Refetch): void {
    if (refetch.oldAges.length === 0) return
    this.generation()
    const { shape } = refetch
    this.#refresh(this.#backend, this.#prior)
    for (const source of sourcesOf(shape)) this.#create('source', source)
    const { sources, shape: own } = this.chain(shape, this.#create('shape', shape.key))
    for (const level of [this.#backend, ...sources, own!]) {
      if (level.evidence.observe(refetch)) this.#isAlarmed = true
    }
    if (refetch.isHistory) this.tick()
  }

  /** The levels of a shape, up to date. */
  chain(shape?: LearnedShape, own = shape && this.#shapes.use(shape.key)): Chain {
    const backend = this.#refresh(this.#backend, this.#prior)
    const sources: Level[] = []
    for (const name of shape === undefined ? [] : sourcesOf(shape)) {
      const source = this.#sources.use(name)
      if (source !== undefined) sources.push(this.#refresh(source, backend.belief))
    }
    const parent = sources.length === 0 ? backend.belief : mostChanging(sources.map(({ belief }) => belief))
    return { backend, sources, shape: own && this.#refresh(own, parent) }
  }

  /** Every level that has seen something, with its sums decayed up to now. */
  levels(): readonly Level[] {
    const levels = [this.#backend, ...this.#sources.values(), ...this.#shapes.values()]
    for (const level of levels) level.decay(this.#options.clock.now())
    return levels
  }

  /** The level of this name. A new one does not evict one that is in use here. */
  levelFor(kind: Exclude<RateSource, 'prior'>, name: string): Level | undefined {
    if (kind === 'backend') return this.#backend
    const [levels, max] =
      kind === 'shape' ? [this.#shapes, this.#options.maxShapes] : [this.#sources, this.#options.maxSources]
    return levels.has(name) || levels.size < max ? this.#create(kind, name) : undefined
  }

  #create(kind: 'shape' | 'source', name: string): Level {
    const levels = kind === 'shape' ? this.#shapes : this.#sources
    const known = levels.use(name)
    if (known !== undefined) return known
    const level = new Level(kind, name, { at: this.#options.clock.now(), parent: this.#backend.belief })
    levels.set(name, level)
    return level
  }

  #refresh(level: Level, parent: Belief): Level {
    if (this.#refreshed.has(level)) return level
    this.#refreshed.add(level)
    const { budget = 0.01, capMs = 24 * 3_600_000 } = this.#reference ?? {}
    level.refresh(this.#options.clock.now(), parent, { budget, capMs })
    return level
  }
}

const sourcesOf = ({ sources }: LearnedShape): readonly string[] =>
  sources.length <= 1 ? sources : [...new Set(sources)].slice(0, maxSourcesOfShape)
