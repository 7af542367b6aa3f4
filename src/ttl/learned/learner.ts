/** Learns about one backend: takes events in, and computes policies from them. One per backend and thread. */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Clock } from '../../core/clock.ts'
import type { TtlPolicy } from '../policy.ts'
import { ageBorders } from './age-classes.ts'
import { reportOf } from './class-reports.ts'
import { phaseOf } from './epochs.ts'
import { areFinite, areSums, type Sign } from './evidence.ts'
import { beliefOf, type Chain, Hierarchy } from './hierarchy.ts'
import { tablePolicy } from './learned-policy.ts'
import type {
  ClassReport,
  LearnedEvent,
  LearnedShape,
  LearnedTerms,
  Learning,
  RateSource,
  ServedShape,
} from './learning.ts'
import { type Belief, type DatedSums, type Level, priorBelief } from './level.ts'
import { type GroupStaleness, halfLifeMs, StalenessMeter, stalenessGroups } from './staleness-meter.ts'
import { isSameTable, type TableRules, type TtlTable, tableOf } from './ttl-table.ts'

export interface LearnerOptions {
  readonly clock: Pick<Clock, 'now'>
  /** Backends that take one interval per query: settled buckets lapse on nested epochs. */
  readonly lapsesOnEpochs: boolean
  /** Called with every event that `observe` received in this thread (not with events of `apply`). */
  readonly onEvent?: (event: LearnedEvent) => void
  /** Beyond this, the least recently used shapes are evicted; 1000 by default. */
  readonly maxShapes?: number
  readonly maxSources?: number
}

/** Sums of one level. Adding two of one level and name merges them. */
export interface EvidenceRow extends DatedSums {
  readonly level: Exclude<RateSource, 'prior'> | 'staleness'
  /** The key of a shape, or the name of a source; empty for the others. */
  readonly name: string
}

/** Terms of an operator, and the policies that were made for them. */
interface Agreement {
  readonly terms: LearnedTerms
  readonly prior: Belief
  readonly policies: BoundedMap<string, BoundPolicy>
  /** Of shapes that know nothing themselves, by the sources that they learn from. */
  readonly tables: BoundedMap<string, { readonly table: TtlTable; readonly generation: number }>
}

interface BoundPolicy {
  readonly policy: TtlPolicy
  readonly table: TtlTable
  /** Of the hierarchy when this was made, or found to be still right. */
  generation: number
}

/** Threads and nodes read their clocks one after the other. Events from further ahead are rejected. */
const toleranceMs = 60_000

/** Different terms on one backend: its own, and some for matching shapes. */
const maxAgreements = 100

export class Learner implements Learning {
  readonly #options: LearnerOptions & { readonly maxShapes: number; readonly maxSources: number }
  readonly #hierarchy: Hierarchy
  readonly #meter = new StalenessMeter()
  /** By identity, because every request looks this up, and by value, because a reload makes new objects. */
  #agreements = new WeakMap<LearnedTerms, Agreement>()
  readonly #agreementsByValue = new BoundedMap<string, Agreement>({ maxEntries: maxAgreements })

  constructor(options: LearnerOptions) {
    this.#options = { maxShapes: 1000, maxSources: 200, ...options }
    this.#hierarchy = new Hierarchy(this.#options)
  }

  policyFor(terms: LearnedTerms, shape: ServedShape): TtlPolicy {
    const agreement = this.#agreements.get(terms) ?? this.#agree(terms)
    const bound = agreement.policies.get(shape.key)
    if (bound?.generation === this.#hierarchy.generation()) return bound.policy
    return this.#bind(agreement, shape)
  }

  observe(event: LearnedEvent): void {
    this.apply(event)
    this.#options.onEvent?.(event)
  }

  apply(event: LearnedEvent): void {
    if (!(event.at <= this.#options.clock.now() + toleranceMs)) return
    if (event.kind === 'refetch') this.#hierarchy.observe(event)
    else if (Number.isFinite(event.ageMs)) this.#meter.sample(event)
  }

  report(terms: LearnedTerms, shape?: LearnedShape): readonly ClassReport[] {
    this.#hierarchy.generation()
    const { prior } = this.#agreements.get(terms) ?? this.#agree(terms)
    const measured = (ageMs: number) => this.#meter.measured(ageMs)
    return reportOf(this.#hierarchy.chain(shape), { prior, measured, ...this.#rules(terms) })
  }

  staleness(): readonly GroupStaleness[] {
    this.#meter.decay(this.#options.clock.now())
    return this.#meter.groups()
  }

  own(): readonly EvidenceRow[] {
    const at = this.#options.clock.now()
    this.#meter.decay(at)
    const rows: EvidenceRow[] = [{ level: 'staleness', name: '', at, sums: this.#meter.sums() }]
    for (const level of this.#hierarchy.levels()) {
      rows.push({ level: level.kind, name: level.name, at, sums: level.evidence.sums() })
    }
    // A level may be known from other nodes only.
    return rows.filter(({ sums }) => sums.some((sum) => sum > 0))
  }

  setForeign(rows: readonly EvidenceRow[]): void {
    const byLevel = new Map<Level, EvidenceRow[]>(this.#hierarchy.levels().map((level) => [level, []]))
    for (const row of rows) {
      const level = this.#levelOf(row)
      if (level !== undefined) byLevel.set(level, [...(byLevel.get(level) ?? []), row])
    }
    for (const [level, ofLevel] of byLevel) level.setForeign(ofLevel)
    this.#meter.setForeign(this.#stalenessOf(rows))
    this.#hierarchy.tick()
  }

  /** Adds sums to this node's own. */
  adopt(rows: readonly EvidenceRow[]): void {
    this.#changeOwn(rows, 1)
  }

  /** Subtracts sums from this node's own again: another node has adopted them. */
  disown(rows: readonly EvidenceRow[]): void {
    this.#changeOwn(rows, -1)
  }

  #changeOwn(rows: readonly EvidenceRow[], sign: Sign): void {
    // Both sums must be decayed up to the same time. Listing the levels decays them.
    this.#hierarchy.levels()
    this.#meter.decay(this.#options.clock.now())
    for (const row of rows) this.#levelOf(row)?.add(row, sign)
    this.#meter.add(this.#stalenessOf(rows), sign)
    this.#hierarchy.tick()
  }

  /** The measured staleness of all of these rows, decayed up to now. */
  #stalenessOf(rows: readonly EvidenceRow[]): Float64Array {
    const now = this.#options.clock.now()
    const total = this.#meter.sums().fill(0)
    for (const { level, at, sums } of rows) {
      if (level !== 'staleness' || sums.length !== total.length || !areFinite(sums)) continue
      const kept = 0.5 ** (Math.max(0, now - at) / halfLifeMs) || 0
      for (let i = 0; i < total.length; i++) total[i]! += kept * sums[i]!
    }
    return total
  }

  #levelOf({ level, name, sums }: EvidenceRow): Level | undefined {
    if (level === 'staleness' || !areSums(sums, ageBorders)) return undefined
    return this.#hierarchy.levelFor(level, name)
  }

  #agree(terms: LearnedTerms): Agreement {
    const { budget, floorMs, capMs, settledAgeMs } = terms
    const value = [budget, floorMs, capMs, settledAgeMs].join()
    let agreement = this.#agreementsByValue.use(value)
    if (agreement === undefined) {
      const bounds = { maxEntries: this.#options.maxShapes }
      agreement = {
        terms,
        prior: priorBelief(budget),
        policies: new BoundedMap(bounds),
        tables: new BoundedMap(bounds),
      }
      this.#agreementsByValue.set(value, agreement)
      this.#hierarchy.expect(terms)
    }
    this.#agreements.set(terms, agreement)
    return agreement
  }

  /** A policy stays the same object as long as its TTLs are the same. */
  #bind(agreement: Agreement, shape: ServedShape): TtlPolicy {
    const generation = this.#hierarchy.generation()
    const chain = this.#hierarchy.chain(shape)
    const table =
      chain.shape === undefined ? this.#sharedTable(agreement, chain) : this.#table(agreement, chain)
    const before = agreement.policies.use(shape.key)
    if (before !== undefined && (before.table === table || isSameTable(before.table, table))) {
      before.generation = generation
      return before.policy
    }
    const phaseMs = this.#options.lapsesOnEpochs ? phaseOf(shape.key, shape.grid) : undefined
    const policy = tablePolicy(table, agreement.terms, phaseMs)
    agreement.policies.set(shape.key, { policy, table, generation })
    return policy
  }

  #sharedTable(agreement: Agreement, chain: Chain): TtlTable {
    const generation = this.#hierarchy.generation()
    const names = chain.sources.map(({ name }) => name).join('\n')
    const before = agreement.tables.use(names)
    if (before?.generation === generation) return before.table
    const table = this.#table(agreement, chain)
    agreement.tables.set(names, { table, generation })
    return table
  }

  #table({ terms, prior }: Agreement, chain: Chain): TtlTable {
    return tableOf(beliefOf(chain, prior), this.#rules(terms))
  }

  #rules(terms: LearnedTerms): TableRules {
    const { budget } = terms
    // Once for all ages of a group: a table has a hundred ages and more.
    const budgets = stalenessGroups.map((fromMs) => budget * this.#meter.factor(fromMs, budget))
    const budgetAt = (ageMs: number) => budgets[stalenessGroups.findLastIndex((fromMs) => fromMs <= ageMs)]!
    return { terms, budgetAt, onEpochs: this.#options.lapsesOnEpochs }
  }
}
