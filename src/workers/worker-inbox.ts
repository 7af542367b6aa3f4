/** The messages of worker threads to the main thread: each is passed to the part that it is for. */
import type { BackendRuntime } from '../proxy/assembly/backend-runtime.ts'
import type { ServerInternals } from '../proxy/assembly/parts.ts'
import type { StoreParts } from '../proxy/assembly/tiers.ts'
import { ThreadMaker } from '../proxy/compression/pieces-maker.ts'
import type { Store } from '../stores/store.ts'
import { Directory } from './cache/directory.ts'
import { runOnCells } from './cells.ts'
import { ClaimTable } from './claims.ts'
import type { LearnedBatch, NamedEvent } from './learned-relay.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { makePieces } from './pieces.ts'
import { observeBatch } from './relay.ts'
import type { WorkerHandle, WorkerMessage } from './worker-handle.ts'
import type { WorkerPoolOptions } from './worker-pool.ts'

export interface WorkerInboxOptions extends Pick<WorkerPoolOptions, 'telemetry' | 'onBytes' | 'relieve'> {
  readonly internals: () => ServerInternals
  readonly memory: Store
  /** By thread, as they are started and end. */
  readonly workers: ReadonlyMap<number, WorkerHandle>
}

export class WorkerInbox {
  readonly #options: WorkerInboxOptions
  readonly #directory: Directory
  readonly #claims: ClaimTable
  readonly #pieceMaker = new ThreadMaker()

  constructor(options: WorkerInboxOptions) {
    const { memory, onBytes, internals } = options
    this.#options = options
    this.#directory = new Directory({ memory, storeOf: (name) => internals().storage.of(name), onBytes })
    this.#claims = new ClaimTable({
      send: (thread, message) => this.#sendTo(thread, message),
      isNews: (key, seen) => this.#directory.isNews(key, seen),
      outer: (store) => this.#partsOf(store).claims,
    })
  }

  /** A worker begins to send messages. */
  open(worker: WorkerHandle): void {
    this.#directory.open(worker.threadId, (message) => worker.send(message))
  }

  /** Releases the memory of a worker that has ended, and lets its waiters continue. */
  lost(threadId: number): void {
    this.#directory.close(threadId)
    this.#claims.close(threadId)
  }

  close(): void {
    this.#pieceMaker.close()
  }

  /** Memory has another thing of a key than before. */
  changed(key: string): void {
    this.#directory.changed(key)
  }

  /** Observations of the main thread or of one worker are evidence for all other workers. */
  sendLearned(events: readonly NamedEvent[], from?: WorkerHandle): void {
    if (events.length === 0) return
    for (const worker of this.#options.workers.values())
      if (worker !== from) worker.send({ kind: 'learned', events })
  }

  receive(worker: WorkerHandle, message: WorkerMessage): void {
    const { telemetry } = this.#options
    switch (message.kind) {
      case 'claim':
      case 'release':
        this.#claims.receive(worker.threadId, message)
        break
      case 'cells':
        void runOnCells(this.#partsOf(message.store).cells, message).then((reply) =>
          this.#sendTo(worker.threadId, reply),
        )
        break
      case 'pieces':
        makePieces(this.#pieceMaker, message, (reply, moved) => this.#sendTo(worker.threadId, reply, moved))
        break
      case 'batch':
        observeBatch(telemetry, message)
        worker.send({ kind: 'taken' })
        break
      case 'learned':
        this.#learned(worker, message)
        break
      case 'topic':
        telemetry.log.change(message.topic, message.state, message.fields)
        break
      case 'shadow':
        this.#options.internals().shadowLog[message.call](...(message.given as [never, never]))
        break
      case 'figures':
        worker.figures = message.figures
        break
      case 'flavour':
        this.#learn(worker, message)
        break
      case 'mark':
        void this.#partsOf(message.store).marks.add(message.mark)
        break
      case 'tight':
        this.#options.relieve()
        break
      default:
        this.#directory.receive(worker.threadId, message)
    }
  }

  #learned(from: WorkerHandle, { events, dropped }: LearnedBatch): void {
    for (const { backend, event } of events) this.#runtimeOf(backend)?.learning.apply(event)
    for (const [backend, count] of dropped) this.#runtimeOf(backend)?.learning.noteDropped(count)
    from.send({ kind: 'learned-taken' })
    this.sendLearned(events, from)
  }

  /** Forwards one worker's detection of a database, so that the others need not query it. */
  #learn(from: WorkerHandle, { backend, flavour }: FromWorker & { kind: 'flavour' }): void {
    this.#runtimeOf(backend)?.flavour.adopt(flavour)
    for (const worker of this.#options.workers.values()) {
      if (worker !== from) void worker.command({ is: 'flavour', backend, flavour })
    }
  }

  #runtimeOf(backend: string): BackendRuntime | undefined {
    return this.#options.internals().backendRuntimes.find(({ name }) => name === backend)
  }

  #sendTo(threadId: number, message: ToWorker, moved: readonly ArrayBuffer[] = []): void {
    this.#options.workers.get(threadId)?.send(message, moved)
  }

  #partsOf(store: string): StoreParts {
    const { storage } = this.#options.internals()
    return storage.partsOf(storage.of(store))
  }
}
