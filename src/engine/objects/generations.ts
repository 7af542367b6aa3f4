/**
 * Invalidations, as generation rows of a tenant: a version that was generated before the generation of its key, of one of
 * its tags or of the tenant is not fresh. Nothing is deleted, so that it can still be served where regenerating fails.
 * Generations are instants that never repeat within a tenant. A HEAD row holds the newest: looking for news is one read.
 */
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { Cells } from '../../stores/cells.ts'
import { maxSkewMs } from '../../stores/skew.ts'
import { type Generation, GenerationRows } from './generation-rows.ts'
import type { ObjectName } from './object-names.ts'
import type { Version } from './object-rows.ts'

export interface GenerationsOptions {
  readonly cells: Cells | undefined
  readonly clock: Clock
  /** An invalidation by another node is seen after this at the latest. */
  readonly noticeMs: number
}

interface TenantGenerations {
  /** Of all the rows below. */
  newest: EpochMs
  /** By the `sk` of its row. */
  readonly rows: Map<string, EpochMs>
  /** The head up to which the rows of the store are known. */
  listed: EpochMs
  /** Invalidations that could not be stored yet. */
  readonly unsaved: Set<string>
  /** On the scale of `Clock.elapsed`. */
  lookedAt: number
  look: Promise<void> | undefined
}

const never: EpochMs = 0
const maxTenants = 10_000
/** Beyond this the oldest become one invalidation of the whole tenant. */
const maxRows = 500
/** The limit of one publish, with room for the row that replaces them. */
const foldedRows = 90

export const everythingSk = 'ALL'
export const tagSk = (tagHash: string): string => `TAG#${tagHash}`
export const keySk = (keyHash: string): string => `KEY#${keyHash}`

export class Generations {
  readonly #options: GenerationsOptions
  readonly #rows: GenerationRows | undefined
  readonly #tenants = new Map<string, TenantGenerations>()
  /** The newest of tenants that were forgotten, where no store still has them. */
  #forgotten: EpochMs = never

  constructor(options: GenerationsOptions) {
    this.#options = options
    this.#rows = options.cells && new GenerationRows(options.cells, options.clock)
  }

  /** The newest generation of a tenant that is known here. */
  newest(tenant: string): EpochMs {
    return this.#tenants.get(tenant)?.newest ?? this.#forgotten
  }

  /**
   * The generation known to a render that begins now: every later invalidation has a later instant, whatever the clocks
   * are.
   */
  generation(tenant: string): EpochMs {
    const known = this.#tenants.get(tenant)
    const knowsAll = this.#rows === undefined || (known?.unsaved.size ?? 0) > 0
    return knowsAll ? this.newest(tenant) : (known?.listed ?? never)
  }

  /** When a version was invalidated; undefined where it was not. */
  invalidatedAt({ tenant, keyHash }: ObjectName, version: Version): EpochMs | undefined {
    const { generation, generatedAt, tagHashes } = version
    const newest = this.newest(tenant)
    if (newest <= generation || newest < generatedAt - maxSkewMs) return undefined
    const rows = this.#tenants.get(tenant)?.rows
    const names = [everythingSk, keySk(keyHash), ...tagHashes.map(tagSk)]
    const at = rows === undefined ? newest : Math.max(...names.map((sk) => rows.get(sk) ?? never))
    // An invalidation unknown to the render may have happened during it: its clock may be ahead of the other's.
    return at > generation && at >= generatedAt - maxSkewMs ? at : undefined
  }

  /** `soon`: worth a read in the background. `overdue`: the state is uncertain without a read. */
  dueFor(tenant: string): 'no' | 'soon' | 'overdue' {
    if (this.#rows === undefined) return 'no'
    const known = this.#tenants.get(tenant)
    if (known === undefined) return 'overdue'
    const { clock, noticeMs } = this.#options
    const passed = clock.elapsed() - known.lookedAt
    return passed >= noticeMs ? 'overdue' : passed >= noticeMs / 2 ? 'soon' : 'no'
  }

  /** Looks for invalidations by other nodes. Never rejects: known invalidations stay while the store fails. */
  async look(tenant: string): Promise<void> {
    const known = this.#of(tenant)
    known.look ??= this.#lookUp(tenant, known).finally(() => {
      known.look = undefined
    })
    await known.look
  }

  /** Invalidates in this process at once. Rejects where the store cannot be written; the next read retries. */
  async invalidate(tenant: string, sk: string): Promise<EpochMs> {
    const known = this.#of(tenant)
    const at = Math.max(this.#options.clock.now(), known.newest + 1)
    this.#apply(known, [{ sk, at }])
    if (this.#rows === undefined) return at
    known.unsaved.add(sk)
    return this.#save(tenant, known, sk)
  }

  async #save(tenant: string, known: TenantGenerations, sk: string): Promise<EpochMs> {
    const saved = await this.#rows!.save(tenant, { sk, at: known.rows.get(sk)! })
    known.unsaved.delete(sk)
    this.#apply(known, [saved])
    // Unless another node has changed something in between, the new row is all that is new.
    if (saved.from === known.listed) known.listed = saved.at
    else await this.#list(tenant, known)
    await this.#fold(tenant, known)
    return saved.at
  }

  async #lookUp(tenant: string, known: TenantGenerations): Promise<void> {
    const began = this.#options.clock.elapsed()
    try {
      for (const sk of known.unsaved) await this.#save(tenant, known, sk)
      await this.#list(tenant, known)
      known.lookedAt = began
    } catch {
      // The next reader looks again.
    }
  }

  async #list(tenant: string, known: TenantGenerations): Promise<void> {
    const news = await this.#rows!.news(tenant, known.listed)
    this.#apply(known, news?.rows ?? [])
    known.listed = news?.head ?? known.listed
  }

  #apply(known: TenantGenerations, generations: readonly Generation[]): void {
    for (const { sk, at } of generations) {
      known.rows.set(sk, Math.max(at, known.rows.get(sk) ?? never))
      known.newest = Math.max(known.newest, at)
    }
  }

  async #fold(tenant: string, known: TenantGenerations): Promise<void> {
    if (known.rows.size <= maxRows) return
    const byAge = [...known.rows].filter(([sk]) => sk !== everythingSk).sort(([, a], [, b]) => a - b)
    const older = byAge.slice(0, foldedRows)
    const folded = older.map(([sk]) => sk)
    this.#apply(known, [{ sk: everythingSk, at: older.at(-1)![1] }])
    for (const sk of folded) known.rows.delete(sk)
    const everything = { sk: everythingSk, at: known.rows.get(everythingSk)! }
    await this.#rows?.fold(tenant, everything, folded)
  }

  #of(tenant: string): TenantGenerations {
    const known = this.#tenants.get(tenant)
    if (known !== undefined) return known
    const newest = this.newest(tenant)
    const rows = new Map(newest === never ? [] : [[everythingSk, newest]])
    const made = {
      ...{ newest, rows, listed: never },
      unsaved: new Set<string>(),
      lookedAt: Number.NEGATIVE_INFINITY,
      look: undefined,
    }
    this.#tenants.set(tenant, made)
    if (this.#tenants.size > maxTenants) this.#forgetOldest()
    return made
  }

  #forgetOldest(): void {
    const [tenant, { newest, unsaved }] = this.#tenants.entries().next().value!
    this.#tenants.delete(tenant)
    // A store still has them; without one, or where it failed, everything from before counts as invalidated.
    if (this.#rows === undefined || unsaved.size > 0) this.#forgotten = Math.max(this.#forgotten, newest)
  }
}
