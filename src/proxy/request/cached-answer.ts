/** Sends an answer that is put together from panes, or one that is kept as a whole: in the cheapest way that it allows. */
import type { HeaderList, Recomposed } from '../../backends/backend.ts'
import type { Written } from '../../core/scratch.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { Packing } from '../compression/encoding.ts'
import { type PackableAnswer, packAnswer, writeWhole } from '../compression/pack-answer.ts'
import { nameOf } from '../compression/packed.ts'
import { memoryOf } from '../front/send-whole.ts'
import type { Outgoing } from './outgoing.ts'

export interface CachedAnswer extends PackableAnswer {
  readonly headers: HeaderList
}

/**
 * Thousands of short series take longer to recompose than to send: such an answer is cached as a whole when requested
 * again.
 */
const manyParts = 2_000

/** Less is copied as quickly. */
const leastViewed = 32 * 1024

/** A shorter answer is copied for each client: many slow readers of it take little memory. */
const leastShared = 256 * 1024

/** Returns false where the memory budget has no room for it. */
export function sendCached(outgoing: Outgoing, answer: CachedAnswer): MaybePromise<boolean> {
  const { headers, body } = answer
  const { packing } = outgoing
  const { packed } = outgoing.options
  if (packing !== 'identity') return sendPacked(outgoing, answer, packing)
  const panes = (body.parts ?? 0) < manyParts ? undefined : answer.panes
  const kept = panes && packed.find(panes, 'identity')
  if (kept instanceof Buffer) {
    outgoing.sendKept(headers, kept)
    return true
  }
  if (panes === undefined && (outgoing.sendShort(headers, body) || sendViews(outgoing, headers, body)))
    return true
  const written = writtenOf(outgoing, answer)
  if (written === undefined) return false
  if (panes !== undefined) packed.offer(panes, 'identity', written.bytes)
  outgoing.send(200, headers, written)
  return true
}

async function sendPacked(
  outgoing: Outgoing,
  answer: CachedAnswer,
  packing: Exclude<Packing, 'identity'>,
): Promise<boolean> {
  const { body, panes } = answer
  const headers = [...answer.headers, 'Content-Encoding', packing]
  const made = packAnswer(outgoing.options, answer, packing)
  if (made === undefined) return false
  if ('spliced' in made) {
    outgoing.send(200, headers, made.spliced)
    outgoing.options.pieces.want(panes!, body)
    return true
  }
  outgoing.sendKept(headers, await made.bytes)
  return true
}

/** Sends the bytes from where they lie, without a copy, where that does not keep much more than them from being given up. */
function sendViews(outgoing: Outgoing, headers: HeaderList, body: Recomposed): boolean {
  const views = body.length < leastViewed ? undefined : body.views?.()
  if (views === undefined) return false
  const memory = memoryOf(views)
  const kept = memory.reduce((bytes, { byteLength }) => bytes + byteLength, 0)
  if (kept > 2 * body.length || !outgoing.memory.holdShared(memory)) return false
  if (!outgoing.isGone && !outgoing.hasBegun) outgoing.sendWhole(200, headers, views)
  return true
}

function writtenOf({ options }: Outgoing, { body, panes }: CachedAnswer): Written | undefined {
  const write = () => writeWhole(options, body)
  if (panes === undefined || body.length < leastShared) return write()
  return options.shared.use(nameOf(panes, 'identity'), write)
}
