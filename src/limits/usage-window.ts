/**
 * The usage that one process counted in one hour or day, per entity and resource, in pieces that each fit into one row.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Tokens } from './limit.ts'
import { isEntityLength } from './names.ts'

export const usageKinds = ['hour', 'day'] as const
export type UsageKind = (typeof usageKinds)[number]

export const windowMs: Readonly<Record<UsageKind, number>> = { hour: 3_600_000, day: 86_400_000 }

/** Stands for all entities beyond the limit of single counters. No entity can have this name. */
const otherEntities = '_other_'

export interface Usage {
  readonly entity: string
  readonly resource: string
  readonly permits: number
  readonly refusals: number
  /** Tokens by the name of the limit, refunds subtracted. */
  readonly tokens: ReadonlyMap<string, number>
}

/** Usage that is still being counted. */
export interface Sum extends Usage {
  permits: number
  refusals: number
  readonly tokens: Map<string, number>
}

interface Entry extends Sum {
  readonly piece: Piece
}

interface Piece {
  readonly entries: Entry[]
  bytes: number
  isDirty: boolean
}

export interface WindowBounds {
  readonly maxEntries: number
  readonly maxPieceBytes: number
}

export class UsageWindow {
  readonly kind: UsageKind
  readonly start: EpochMs
  readonly end: EpochMs
  readonly pieces: Piece[] = []
  readonly #bounds: WindowBounds
  readonly #byResource = new Map<string, Map<string, Entry>>()
  #count = 0
  #other: Entry | undefined

  constructor(kind: UsageKind, at: EpochMs, bounds: WindowBounds) {
    this.kind = kind
    this.start = Math.floor(at / windowMs[kind]) * windowMs[kind]
    this.end = this.start + windowMs[kind]
    this.#bounds = bounds
  }

  hasInstant(at: EpochMs): boolean {
    return at >= this.start && at < this.end
  }

  get isDirty(): boolean {
    return this.pieces.some((piece) => piece.isDirty)
  }

  /** The sums of an entity at a resource, to be added to. */
  touch(entity: string, resource: string): Sum {
    const entry = this.#byResource.get(resource)?.get(entity) ?? this.#add(entity, resource)
    entry.piece.isDirty = true
    return entry
  }

  #add(entity: string, resource: string): Entry {
    if (this.#count >= this.#bounds.maxEntries || !isEntityLength(entity)) {
      this.#other ??= this.#enter(otherEntities, otherEntities)
      return this.#other
    }
    this.#count++
    const entry = this.#enter(entity, resource)
    const ofResource = this.#byResource.get(resource) ?? new Map<string, Entry>()
    this.#byResource.set(resource, ofResource.set(entity, entry))
    return entry
  }

  /** An entry stays in its piece, so that a piece can be written again and again as one row. */
  #enter(entity: string, resource: string): Entry {
    const bytes = entity.length + resource.length + entryBytes
    let piece = this.pieces.at(-1)
    if (piece === undefined || piece.bytes + bytes > this.#bounds.maxPieceBytes) {
      piece = { entries: [], bytes: 0, isDirty: true }
      this.pieces.push(piece)
    }
    const entry: Entry = { entity, resource, permits: 0, refusals: 0, tokens: new Map(), piece }
    piece.entries.push(entry)
    piece.bytes += bytes
    return entry
  }
}

/** Of its numbers and of a few limits, in JSON. */
const entryBytes = 160

export function addTokens(tokens: Map<string, number>, added: Tokens, sign: 1 | -1): void {
  for (const name in added) tokens.set(name, (tokens.get(name) ?? 0) + sign * added[name]!)
}

/** A row of `encodeUsage`. */
type UsageTuple = readonly [string, string, number, number, readonly (readonly [string, number])[]]

const tupleOf = ({ entity, resource, permits, refusals, tokens }: Usage): UsageTuple => [
  entity,
  resource,
  permits,
  refusals,
  [...tokens],
]

export const encodeUsage = (all: readonly Usage[]): Uint8Array =>
  Buffer.from(JSON.stringify(all.map(tupleOf)))

/** Empty where this version does not understand it. */
export function usageIn(value: Uint8Array): readonly Usage[] {
  try {
    const rows = JSON.parse(Buffer.from(value).toString()) as UsageTuple[]
    return rows.map(([entity, resource, permits, refusals, tokens]) => ({
      ...{ entity, resource, permits, refusals },
      tokens: new Map(tokens),
    }))
  } catch {
    return []
  }
}
