/**
 * The thread that makes pieces, as the threads that serve requests reach it: the main thread has it, and one makes the pieces of
 * all. A thread of its own for each would take some 25 MB more.
 */
import type { Block, PieceJob } from '../proxy/compression/pieces-block.ts'
import type { Delivery, PieceMaker } from '../proxy/compression/pieces-maker.ts'

export interface ToPieceMaker {
  readonly kind: 'pieces'
  readonly ask: number
  readonly job: PieceJob
}

export interface FromPieceMaker {
  readonly kind: 'pieces-made'
  readonly ask: number
  /** Undefined where they could not be made, or the job was not taken. */
  readonly blocks: readonly Block[] | undefined
}

/** The main thread's side. */
export function makePieces(
  maker: PieceMaker,
  { ask, job }: ToPieceMaker,
  send: Sending<FromPieceMaker>,
): void {
  const reply = (blocks: readonly Block[] | undefined) =>
    send({ kind: 'pieces-made', ask, blocks }, blocks?.flatMap(memoryOf) ?? [])
  if (!maker.make(job, reply)) reply(undefined)
}

const memoryOf = ({ bytes, table }: Block): ArrayBuffer[] => [bytes.buffer, table.buffer] as ArrayBuffer[]

/** Memory in the second argument moves to the other thread. */
type Sending<Message> = (message: Message, moved: readonly ArrayBuffer[]) => void

/** Further jobs are not sent: their caller retries with the next answer. */
const mostWaiting = 4

/** A thread's side. */
export class RemotePieceMaker implements PieceMaker {
  readonly #send: Sending<ToPieceMaker>
  readonly #waiting = new Map<number, Delivery>()
  #lastAsk = 0

  constructor(send: Sending<ToPieceMaker>) {
    this.#send = send
  }

  make(job: PieceJob, deliver: Delivery): boolean {
    if (this.#waiting.size >= mostWaiting) return false
    const ask = ++this.#lastAsk
    this.#waiting.set(ask, deliver)
    this.#send({ kind: 'pieces', ask, job }, [job.raw.buffer, job.sizes.buffer])
    return true
  }

  receive({ ask, blocks }: FromPieceMaker): void {
    const deliver = this.#waiting.get(ask)
    this.#waiting.delete(ask)
    deliver?.(blocks)
  }

  close(): void {
    for (const ask of [...this.#waiting.keys()]) this.receive({ kind: 'pieces-made', ask, blocks: undefined })
  }
}
