/** The compressed body of an answer: kept from before, spliced from compressed pieces, or compressed now. */
import type { Recomposed } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import type { Pane } from '../../core/pane.ts'
import { type ScratchPool, type Written, writeOut } from '../../core/scratch.ts'
import type { MaybePromise } from '../../stores/store.ts'
import { compress, type Packing } from './encoding.ts'
import type { PackedAnswers } from './packed.ts'
import type { Pieces } from './pieces.ts'
import { spliceRoom } from './pieces-splice.ts'

export interface PackOptions {
  readonly budget: Budget
  readonly scratch: ScratchPool
  readonly packed: PackedAnswers
  readonly pieces: Pieces
}

export interface PackableAnswer {
  readonly body: Recomposed
  /** The panes of the answer, where an equal answer may be requested again. */
  readonly panes?: readonly Pane[] | undefined
  /** Of an answer that is not made of panes: no other one has it. */
  readonly name?: string | undefined
}

type PackedBody = { readonly spliced: Written } | { readonly bytes: MaybePromise<Buffer> }

/** Undefined where the memory budget has no room for it. */
export function packAnswer(
  options: PackOptions,
  answer: PackableAnswer,
  packing: Exclude<Packing, 'identity'>,
): PackedBody | undefined {
  const { packed, pieces } = options
  const { body, panes, name } = answer
  const packable = panes ?? name
  const kept = packable === undefined ? undefined : packed.find(packable, packing)
  if (kept !== undefined) return { bytes: kept }
  const spliced = packing === 'gzip' ? splice(options, answer) : undefined
  if (spliced !== undefined) return { spliced }
  const written = writeWhole(options, body)
  if (written === undefined) return undefined
  const make = () => compress(written.bytes, packing).finally(written.release)
  const bytes = packable === undefined ? make() : packed.make(packable, packing, make)
  // Another thread is compressing this answer: time to order the pieces for the next window.
  if (packing === 'gzip' && panes !== undefined) pieces.want(panes, body)
  return { bytes }
}

/** Undefined where too few pieces are there, or the budget has no room. */
function splice(options: PackOptions, { body, panes }: PackableAnswer): Written | undefined {
  const { packed, pieces } = options
  if (panes === undefined || !pieces.isWorthwhile(panes, body)) return undefined
  const written = writeOut(options, spliceRoom(body.length), (target) => pieces.write(body, target))
  if (written !== undefined) packed.offer(panes, 'gzip', written.bytes)
  return written
}

/** An answer as it is. Undefined where the budget has no room. */
export function writeWhole(
  options: Pick<PackOptions, 'budget' | 'scratch'>,
  body: Recomposed,
): Written | undefined {
  return writeOut(options, body.length, (target) => {
    body.write(target)
    return body.length
  })
}
