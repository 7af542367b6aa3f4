/**
 * Panes without recent reads, compressed: a point takes a quarter of the memory. Long panes are compressed and
 * decompressed off this thread, and copied here in pieces.
 */
import { scheduler } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import { ownMemory } from '../../core/bytes.ts'
import type { Interval } from '../../core/interval.ts'
import type { Origin, Pane, PaneBody } from '../../core/pane.ts'
import { atOnce, bodyOfCompressible, compressible, inTurns } from '../../core/pane-pack.ts'

/** How bytes are made shorter; tests pass one of their own. */
export interface Packer {
  /** Shorter panes are not compressed: the gain is not worth the transfer to another thread. */
  readonly smallest: number
  /** Longer panes are not decompressed on this thread. */
  readonly longestNow: number
  pack(bytes: Buffer): Promise<Buffer>
  unpack(packed: Buffer, length: number): Promise<Buffer>
  unpackNow(packed: Buffer, length: number): Buffer
  /** Resolves when everybody else has had a turn. */
  turn(): Promise<void>
}

interface ColdBody {
  readonly packed: Buffer
  readonly length: number
  /** The number of the body, which it keeps: memoised values are found by it. */
  readonly id: number
  readonly origins: readonly Origin[]
}

interface ColdPane extends Interval {
  readonly body: ColdBody
}

export interface ColdPanes {
  readonly panes: readonly ColdPane[]
  /** The size of the panes after decompression. */
  readonly length: number
}

/** A pane that does not shrink to this share stays uncompressed. */
const worthwhile = 0.8
const bodyOverhead = 384

/** Undefined where it would not pay. Panes of one body share it afterwards too. @throws the packer's error. */
export async function freeze(panes: readonly Pane[], packer: Packer): Promise<ColdPanes | undefined> {
  const cold = new Map<PaneBody, ColdBody>()
  for (const body of new Set(panes.map((pane) => pane.body))) {
    const packed = await packer.pack(await inTurns(compressible(body), () => packer.turn()))
    cold.set(body, { packed, length: body.bytes.length, id: body.id, origins: body.origins })
  }
  const made = coldOf(panes.map(({ body, from, to }) => ({ from, to, body: cold.get(body)! })))
  return coldBytes(made) <= worthwhile * made.length ? made : undefined
}

/** @throws the packer's error. */
export function thawNow(cold: ColdPanes, packer: Packer): Pane[] {
  const bodies = new Map<ColdBody, PaneBody>()
  for (const body of bodiesOf(cold))
    bodies.set(body, atOnce(bodyOfCompressible(packer.unpackNow(body.packed, body.length), body)))
  return panesWith(cold, bodies)
}

/** Off this thread. @throws the packer's error. */
export async function thaw(cold: ColdPanes, packer: Packer): Promise<Pane[]> {
  const bodies = new Map<ColdBody, PaneBody>()
  for (const body of bodiesOf(cold)) {
    const bytes = await packer.unpack(body.packed, body.length)
    bodies.set(body, await inTurns(bodyOfCompressible(bytes, body), () => packer.turn()))
  }
  return panesWith(cold, bodies)
}

/** The remaining panes when an interval is cut out; nothing is decompressed for it. */
export function cutCold({ panes }: ColdPanes, interval: Interval): ColdPanes {
  const left = panes.flatMap((pane) =>
    [
      { ...pane, to: Math.min(pane.to, interval.from) },
      { ...pane, from: Math.max(pane.from, interval.to) },
    ].filter(({ from, to }) => from < to),
  )
  return coldOf(left)
}

export const coldBytes = (cold: ColdPanes): number =>
  bodiesOf(cold).reduce((sum, { packed }) => sum + packed.buffer.byteLength + bodyOverhead, 0)

const coldOf = (panes: readonly ColdPane[]): ColdPanes => ({
  panes,
  length: bodiesOf({ panes }).reduce((sum, { length }) => sum + length, 0),
})

const bodiesOf = ({ panes }: Pick<ColdPanes, 'panes'>): ColdBody[] => [
  ...new Set(panes.map(({ body }) => body)),
]

const panesWith = ({ panes }: ColdPanes, bodies: ReadonlyMap<ColdBody, PaneBody>): Pane[] =>
  panes.map(({ body, from, to }) => ({ body: bodies.get(body)!, from, to }))

const pack = promisify(zstdCompress)
const unpack = promisify(zstdDecompress)
/** The level that is quickest; higher ones make digits longer. */
const params = { [constants.ZSTD_c_compressionLevel]: 1 }
/** All of it in one piece: every further one is a way to the other thread and back. */
const inOnePiece = (length: number) => ({ maxOutputLength: length, chunkSize: Math.max(64, length) })

export const zstd: Packer = {
  smallest: 4096,
  longestNow: 256 * 1024,
  pack: async (bytes) =>
    ownMemory(await pack(bytes, { params, chunkSize: Math.max(4096, bytes.length >> 1) })),
  unpack: (packed, length) => unpack(packed, inOnePiece(length)),
  unpackNow: (packed, length) => zstdDecompressSync(packed, inOnePiece(length)),
  turn: () => scheduler.yield(),
}
