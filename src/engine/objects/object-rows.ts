/**
 * Objects as cells. A body is cut into immutable chunks, which are written first; META names the version that counts, and
 * is swapped in one step together with the removal of the lease. META never holds the body. Readers in other languages find
 * `generated_at`, `revalidate_seconds` and `ttl` in seconds; ours use `generated_at_ms`.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { fieldsIn } from '../../core/json-object.ts'
import { isCollected } from '../../stores/cell-rules.ts'
import {
  type Cell,
  type CellAttributes,
  type CellDraft,
  type Cells,
  type Change,
  type EpochSeconds,
  type Revision,
  unchangedSince,
  whateverIsThere,
} from '../../stores/cells.ts'
import { clocksOf, type TermsMs } from './object-clocks.ts'
import { chunkId, etagOf, lockId, metaId } from './object-names.ts'

/** One immutable version of an object, without its body. */
export interface Version {
  readonly id: string
  /** Taken before the render began. */
  readonly generatedAt: EpochMs
  /** When `rollback` put it back: it counts as fresh from then on. */
  readonly restoredAt?: EpochMs
  readonly etag: string
  readonly status: number
  readonly headers: HeaderList
  readonly bytes: number
  readonly chunks: number
  readonly tagHashes: readonly string[]
  readonly terms: TermsMs
  /** The response named its terms itself: they count instead of the reader's terms. */
  readonly hasOwnTerms: boolean
  /** The newest invalidation that was known when the render began. */
  readonly generation: number
  readonly collectAt: EpochSeconds
}

export interface Meta {
  readonly current: Version
  /** Newest first. */
  readonly previous: readonly Version[]
  readonly rev: Revision
}

/**
 * `lost`: the lease belongs to another node, or expired. `newer`: the stored version is newer. `failed`: the store
 * could not be written.
 */
export type CommitOutcome = 'done' | 'lost' | 'newer' | 'failed'

/** The base of freshness, which also decides which of two versions is the newer. */
export const baseOf = ({ generatedAt, restoredAt }: Version): EpochMs => restoredAt ?? generatedAt

/** Names one state of an object; '' where it is absent. */
export const stateOf = (version: Version | undefined): string =>
  version === undefined ? '' : `${version.id} ${baseOf(version)}`

export const schema = 1
const metaKind = 'object'
const chunkKind = 'object-body'
/** Versions that `rollback` can go back over. */
export const maxPrevious = 3
const concurrentChunks = 8

export class ObjectRows {
  readonly #cells: Cells

  constructor(cells: Cells) {
    this.#cells = cells
  }

  /** Undefined where there is none, and where its collection clock has passed. */
  async read(pk: string, now: EpochMs): Promise<Meta | undefined> {
    const cell = await this.#cells.get(metaId(pk), schema)
    return cell === undefined || isCollected(cell, now) ? undefined : metaIn(cell)
  }

  /** Undefined where a chunk is missing, or where the chunks are not the written ones. */
  async readBody(pk: string, { id, chunks, bytes, etag }: Version): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = []
    for (const indexes of indexesOf(chunks)) {
      const cells = await Promise.all(indexes.map((i) => this.#cells.get(chunkId(pk, id, i), schema)))
      for (const cell of cells) {
        if (cell === undefined) return undefined
        parts.push(cell.value)
      }
    }
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    return body.byteLength === bytes && etagOf(body) === etag ? body : undefined
  }

  chunksOf(bytes: number): number {
    return Math.ceil(bytes / this.#cells.capabilities.maxValueBytes)
  }

  /** Rejects where a chunk could not be written. */
  async writeBody(pk: string, { id, chunks, collectAt }: Version, body: Uint8Array): Promise<void> {
    const size = this.#cells.capabilities.maxValueBytes
    for (const indexes of indexesOf(chunks)) {
      await Promise.all(
        indexes.map(async (i) => {
          const value = body.subarray(i * size, (i + 1) * size)
          const draft: CellDraft = { kind: chunkKind, v: schema, clocks: {}, collectAt, value }
          // A version is written once: a row that is there already is this one, written by an attempt whose reply was lost.
          const outcome = await this.#cells.put(chunkId(pk, id, i), draft, { is: 'absent' })
          if (!outcome.ok && outcome.reason !== 'condition') throw new Error(`a chunk: ${outcome.reason}`)
        }),
      )
    }
  }

  /** Rejects where a chunk could not be removed. */
  async removeBody(pk: string, { id, chunks }: Version): Promise<void> {
    for (let i = 0; i < chunks; i++) await this.#cells.remove(chunkId(pk, id, i), whateverIsThere)
  }

  /**
   * Makes a version the current one, and removes the lease in the same step. `lease` is the revision of our LOCK row; without
   * one only META is changed. Resolves to undefined where all is done; `changed`: one of the rows is not as expected.
   */
  async publish(
    pk: string,
    next: Omit<Meta, 'rev'>,
    expected: { readonly meta: Revision | undefined; readonly lease?: Revision | undefined },
  ): Promise<'changed' | 'failed' | undefined> {
    const changes: Change[] = [{ id: metaId(pk), put: draftOf(next), if: unchangedSince(expected.meta) }]
    if (expected.lease !== undefined) {
      const isOurs = { is: 'revision', rev: expected.lease, before: 'leaseUntil' } as const
      changes.push({ id: lockId(pk), remove: true, if: isOurs })
    }
    const outcome = await this.#cells.publish(changes)
    if (outcome.ok) return undefined
    return outcome.reason === 'condition' ? 'changed' : 'failed'
  }
}

/** The versions behind a new one: superseded ones stay readable until their own collection clock. */
export const previousOf = (meta: Meta | undefined, now: EpochMs): readonly Version[] =>
  meta === undefined
    ? []
    : [meta.current, ...meta.previous].filter((version) => !isCollected(version, now)).slice(0, maxPrevious)

function draftOf({ current, previous }: Omit<Meta, 'rev'>): CellDraft {
  const { freshUntil, staleUntil, errorUntil } = clocksOf(baseOf(current), current.terms)
  return {
    kind: metaKind,
    v: schema,
    clocks: { freshUntil, staleUntil, errorUntil },
    collectAt: current.collectAt,
    value: Buffer.from(JSON.stringify({ current, previous })),
    attributes: attributesOf(current),
  }
}

/** Seconds are rounded down: a reader of the seconds finds an object stale rather too early than too late. */
const attributesOf = (version: Version): CellAttributes => ({
  generated_at: Math.floor(version.generatedAt / 1000),
  generated_at_ms: version.generatedAt,
  revalidate_seconds: Math.floor(version.terms.revalidate / 1000),
  etag: version.etag,
  status: version.status,
  version: version.id,
  bytes: version.bytes,
  chunks: version.chunks,
})

/** Undefined where another version of the program wrote it. */
function metaIn({ value, rev }: Cell): Meta | undefined {
  const { current, previous } = fieldsIn(value)
  if (!isVersion(current) || !Array.isArray(previous)) return undefined
  const versions = previous.filter(isVersion)
  for (const { headers } of [current, ...versions]) Object.freeze(headers)
  return { current, previous: versions, rev }
}

function isVersion(given: unknown): given is Version {
  const { id, generatedAt, etag, terms, headers, tagHashes } = (given ?? {}) as Partial<Version>
  const areTexts = typeof id === 'string' && typeof etag === 'string' && Number.isFinite(generatedAt)
  return areTexts && Number.isFinite(terms?.revalidate) && Array.isArray(headers) && Array.isArray(tagHashes)
}

/** The indexes of all chunks, in groups that are read or written at once. */
function* indexesOf(chunks: number): Generator<readonly number[]> {
  for (let from = 0; from < chunks; from += concurrentChunks)
    yield Array.from({ length: Math.min(concurrentChunks, chunks - from) }, (_, i) => from + i)
}
