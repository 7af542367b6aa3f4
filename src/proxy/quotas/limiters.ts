/** The limiters of a server: one for each set of terms, all on the same rows and the same stored limits. */
import type { Clock } from '../../core/clock.ts'
import { countedLimiter } from '../../limits/counted-limiter.ts'
import type { EntityStatus, Limiter } from '../../limits/limit.ts'
import { limiter } from '../../limits/limiter.ts'
import { LimitRegistry, type RegistryOptions } from '../../limits/registry.ts'
import { readUsage, UsageCounter, type UsageInWindow, type UsageQuery } from '../../limits/usage.ts'
import type { Cells } from '../../stores/cells.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { QuotaTerms } from './terms.ts'

export interface LimitersOptions {
  readonly cells: Cells
  readonly clock: Clock
  /** The terms of any backend; undefined while the configuration has no quotas. */
  readonly terms: () => QuotaTerms | undefined
  readonly onChange?: RegistryOptions['onChange']
}

export class Limiters {
  readonly registry: LimitRegistry
  readonly usage: UsageCounter
  readonly #options: LimitersOptions
  readonly #made = new WeakMap<QuotaTerms, Limiter>()

  constructor(options: LimitersOptions) {
    const { cells, clock, terms, onChange } = options
    this.#options = options
    this.registry = new LimitRegistry(cells, { clock, base: () => terms()?.base ?? {}, onChange })
    this.usage = new UsageCounter(cells, { clock })
  }

  /** Another one after a reload: rows are rescaled to changed limits when they are used next. */
  of(terms: QuotaTerms): Limiter {
    const known = this.#made.get(terms)
    if (known !== undefined) return known
    const { cells, clock } = this.#options
    const { multiplier, onUnavailable } = terms
    const counting = limiter(cells, { clock, resolver: this.registry, multiplier, onUnavailable })
    const fresh = countedLimiter(counting, this.usage)
    this.#made.set(terms, fresh)
    return fresh
  }

  /** How often limits were changed so far, as far as this thread knows. */
  get changes(): number {
    return this.registry.changes
  }

  get isActive(): boolean {
    return this.#options.terms() !== undefined
  }

  status(entity: string, resource: string): MaybePromise<EntityStatus | undefined> {
    const terms = this.#options.terms()
    return terms && this.of(terms).status(entity, resource)
  }

  readUsage(query: UsageQuery): Promise<readonly UsageInWindow[]> {
    return readUsage(this.#options.cells, query)
  }

  /** Writes the usage since the last write. */
  close(): Promise<void> {
    return this.usage.close()
  }
}
