/** Has pieces made in a thread of their own, which is started when first needed. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Block, PieceJob } from './pieces-block.ts'

/** Hears of a job once, after it was taken; of no blocks where they could not be made. */
export type Delivery = (blocks: readonly Block[] | undefined) => void

export interface PieceMaker {
  /** Returns false where it takes no job now; the memory of a job that it takes is its own. */
  make(job: PieceJob, deliver: Delivery): boolean
  close(): void
}

/** Further jobs are rejected: their caller retries with the next answer. */
const mostWaiting = 4
/** A thread that ended this often will not be started again. */
const mostDeaths = 3

export class ThreadMaker implements PieceMaker {
  readonly #start: () => Worker
  #worker: Worker | undefined
  readonly #waiting = new Map<number, Delivery>()
  #jobs = 0
  #deaths = 0
  #isClosed = false

  constructor(start: () => Worker = startWorker) {
    this.#start = start
  }

  make(job: PieceJob, deliver: Delivery): boolean {
    if (this.#isClosed || this.#deaths >= mostDeaths || this.#waiting.size >= mostWaiting) return false
    this.#worker ??= this.#open()
    if (this.#worker === undefined) return false
    const id = ++this.#jobs
    this.#waiting.set(id, deliver)
    this.#worker.postMessage({ id, job }, [job.raw.buffer, job.sizes.buffer])
    return true
  }

  close(): void {
    this.#isClosed = true
    void this.#worker?.terminate()
    this.#forget()
  }

  #open(): Worker | undefined {
    let worker: Worker
    try {
      worker = this.#start()
    } catch {
      // The system or its owner allows no more threads.
      this.#deaths++
      return undefined
    }
    worker.on('message', ({ id, blocks }: { id: number; blocks: Block[] }) => {
      const deliver = this.#waiting.get(id)
      this.#waiting.delete(id)
      deliver?.(blocks)
    })
    // The error is ignored: without the thread answers are compressed whole. `exit` follows.
    worker.on('error', () => {})
    worker.on('messageerror', () => void worker.terminate())
    worker.on('exit', () => {
      this.#deaths++
      this.#forget()
    })
    worker.unref()
    return worker
  }

  #forget(): void {
    this.#worker = undefined
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const deliver of waiting) deliver(undefined)
  }
}

/** Beside this file, with the same ending: as source or as built. */
function startWorker(): Worker {
  const url = new URL(`./pieces-worker${extname(import.meta.filename)}`, import.meta.url)
  return new Worker(url, { execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: 1 } })
}
