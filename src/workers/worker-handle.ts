/** One worker thread: the main thread starts it, sends it commands, and waits for their completion. */
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { WindowpaneError } from '../core/errors.ts'
import { noFigures } from './figures.ts'
import type {
  AnswerTo,
  CommandAnswer,
  FromWorker,
  ToWorker,
  WorkerCommand,
  WorkerFailure,
  WorkerFigures,
  WorkerInit,
} from './messages.ts'

/** Messages that do not concern its start or its commands. */
export type WorkerMessage = Exclude<FromWorker, { readonly kind: 'ready' | 'failed' | 'done' }>

interface WorkerStart {
  readonly startedAt: number
  readonly heap: ResourceLimits
}

interface WorkerEvents {
  readonly onMessage: (message: WorkerMessage) => void
  readonly onExit: () => void
}

export class WorkerHandle {
  readonly place: number
  readonly threadId: number
  readonly startedAt: number
  figures: WorkerFigures = noFigures
  /** Why it ended, where it reported that. */
  trouble: string | undefined
  readonly #thread: Worker
  /** What to call when a command has been carried out. */
  readonly #commands = new Map<number, (answer: CommandAnswer) => void>()
  #hasEnded = false
  #lastCommand = 0

  constructor(init: WorkerInit, { startedAt, heap }: WorkerStart) {
    this.#thread = new Worker(workerFile, { workerData: init, resourceLimits: heap })
    this.place = init.place
    this.threadId = this.#thread.threadId
    this.startedAt = startedAt
  }

  /** Resolves with its URLs when it listens. */
  start({ onMessage, onExit }: WorkerEvents): Promise<ReadonlyMap<string, string>> {
    return new Promise((resolve, reject) => {
      let failure: Error | undefined
      this.#thread.on('message', (message: FromWorker) => {
        if (message.kind === 'ready') resolve(message.urls)
        else if (message.kind === 'failed') failure = errorOf(message)
        else if (message.kind === 'done') this.#commands.get(message.id)?.(message.answer)
        else onMessage(message)
      })
      this.#thread.on('error', (error) => {
        this.trouble = String(error)
      })
      this.#thread.on('exit', () => {
        this.#hasEnded = true
        onExit()
        for (const done of [...this.#commands.values()]) done(undefined)
        const detail = this.trouble ?? 'no reason given'
        reject(failure ?? new Error(`a worker ended while it was starting: ${detail}`))
      })
    })
  }

  /** The memory in `moved` is the worker's from now on. */
  send(message: ToWorker, moved: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, moved)
  }

  /** Resolves when it has been carried out, or without an answer when the worker has ended. */
  command<C extends WorkerCommand>(command: C): Promise<AnswerTo<C> | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined)
    const id = ++this.#lastCommand
    return new Promise((resolve) => {
      this.#commands.set(id, (answer) => {
        this.#commands.delete(id)
        resolve(answer as AnswerTo<C> | undefined)
      })
      this.send({ kind: 'command', id, command })
    })
  }

  /** Drains it. */
  async close(): Promise<void> {
    await this.command({ is: 'close' })
    await this.#thread.terminate()
  }
}

/** The compiler renames imports, not this. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export const errorOf = ({ code, message, remedy }: WorkerFailure): WindowpaneError =>
  new WindowpaneError(code as WindowpaneError['code'], message, { remedy })
