/**
 * The threads that serve requests, as the main thread sees them: started with the state in force, sent all changes,
 * served with panes and claims, restarted when one ends, and drained at shutdown.
 */
import { MessageChannel } from 'node:worker_threads'
import type { DetectedKinds } from '../config/detect.ts'
import type { LoadOptions } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../engine/learning/sampling.ts'
import type { BackendRuntime, BackendRuntimeFigures } from '../proxy/assembly/backend-runtime.ts'
import type { Inside } from '../proxy/assembly/parts.ts'
import type { StoreParts } from '../proxy/assembly/tiers.ts'
import { ThreadMaker } from '../proxy/compression/pieces-maker.ts'
import type { Listener } from '../proxy/front/listener.ts'
import type { Store } from '../stores/store.ts'
import type { ThreadFigures } from '../telemetry/process-figures.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Directory } from './cache/directory.ts'
import { runOnCells } from './cells.ts'
import { ClaimTable } from './claims.ts'
import { addUp } from './figures.ts'
import type { LearnedBatch, NamedEvent } from './learned-relay.ts'
import type { FromWorker, ToWorker, WorkerCommand, WorkerFigures, WorkerInit } from './messages.ts'
import { makePieces } from './pieces.ts'
import { observeBatch } from './relay.ts'
import { RestartBackoff } from './restart-backoff.ts'
import { sampleInWorkers } from './sampling.ts'
import { emptyCell, type MeterCells } from './shared-meter.ts'
import { heapOfOne } from './shares.ts'
import { WorkerHandle, type WorkerMessage } from './worker-handle.ts'
import { serverStateOf } from './worker-init.ts'

export interface WorkerPoolOptions {
  readonly workers: number
  readonly clock: Clock
  readonly config: Config
  /** The detected kinds of the databases. */
  readonly kinds: DetectedKinds
  /** The sources of the configuration in force. */
  readonly given: () => LoadOptions
  readonly telemetry: Telemetry
  /** Cell 0 is the main thread's. */
  readonly meter: MeterCells
  /** Called with the size of memory that workers have allocated. */
  readonly onBytes: (bytes: number) => void
  /** Evicts until a part of the budget is free again. */
  readonly relieve: () => void
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #workers = new Map<number, WorkerHandle>()
  readonly #addresses = new Map<string, string>()
  readonly #backoff = new RestartBackoff()
  /** Makes the pieces of all workers. */
  readonly #pieceMaker = new ThreadMaker()
  #inside!: Inside
  #directory!: Directory
  #claims!: ClaimTable
  /** Timers do not keep the process alive; an open port does, while every worker waits to be started again. */
  readonly #keepAlive = new MessageChannel().port1
  #closing: Promise<void> | undefined

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#keepAlive.on('message', () => {})
  }

  /** The first alone: it finds out which port is taken where any will do. */
  async start(inside: Inside, memory: Store): Promise<ReadonlyMap<string, Listener>> {
    const { storage } = inside
    this.#inside = inside
    const { onBytes } = this.#options
    this.#directory = new Directory({ memory, storeOf: (name) => storage.of(name), onBytes })
    this.#claims = new ClaimTable({
      send: (thread, message) => this.#sendTo(thread, message),
      isNews: (key, seen) => this.#directory.isNews(key, seen),
      outer: (store) => this.#partsOf(store).claims,
    })
    try {
      const urls = await this.#spawn(1)
      const listeners = this.#listenersAt(urls)
      await Promise.all(Array.from({ length: this.#options.workers - 1 }, (_, i) => this.#spawn(i + 2)))
      return listeners
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Memory has another thing of a key than before. */
  changed(key: string): void {
    // Before the threads are started none of them holds a key.
    this.#directory?.changed(key)
  }

  /** Resolves when every worker has carried it out, or is no more: one that is started later begins with it. */
  async broadcast(command: WorkerCommand): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.command(command)))
  }

  /** Observations of the main thread or of one worker are evidence for all other workers. */
  tellLearned(events: readonly NamedEvent[], from?: WorkerHandle): void {
    if (events.length === 0) return
    for (const worker of this.#workers.values()) if (worker !== from) worker.send({ kind: 'learned', events })
  }

  sample(backend: string, order: SamplingOrder): Promise<Sampled | NotSampled> {
    return sampleInWorkers([...this.#workers.values()], backend, order)
  }

  figures(backend: string): BackendRuntimeFigures {
    return addUp([...this.#workers.values()].map(({ figures }) => figures.databases.get(backend)))
  }

  get threads(): readonly ThreadFigures[] {
    return [...this.#workers.values()].flatMap(({ figures: { thread } }) => (thread ? [thread] : []))
  }

  /** Undefined where nothing is traced. */
  get spans(): WorkerFigures['spans'] {
    const all = [...this.#workers.values()].flatMap(({ figures: { spans } }) => (spans ? [spans] : []))
    if (all.length === 0) return undefined
    return all.reduce((a, b) => ({ sent: a.sent + b.sent, dropped: a.dropped + b.dropped }))
  }

  /** Drains all at once. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#keepAlive.close()
    this.#pieceMaker.close()
    await Promise.all([...this.#workers.values()].map((worker) => worker.close()))
  }

  /** One per configured address; each closes all, once. */
  #listenersAt(urls: ReadonlyMap<string, string>): ReadonlyMap<string, Listener> {
    const { config } = this.#options
    const listeners = new Map<string, Listener>()
    for (const [name, url] of urls) {
      const address = config.backends[name]!.listen ?? config.listen
      this.#addresses.set(address, url.replace(/^https?:\/\//, ''))
      listeners.set(address, { url, close: () => this.close() })
    }
    return listeners
  }

  /** Resolves when it listens. */
  #spawn(place: number): Promise<ReadonlyMap<string, string>> {
    const { clock, config } = this.#options
    const start = { startedAt: clock.elapsed(), heap: heapOfOne(config.limits) }
    const worker = new WorkerHandle(this.#init(place), start)
    const { threadId } = worker
    this.#workers.set(threadId, worker)
    this.#directory.open(threadId, (message) => worker.send(message))
    return worker.start({
      onMessage: (message) => this.#receive(worker, message),
      onExit: () => this.#lost(worker),
    })
  }

  #init(place: number): WorkerInit {
    const { workers, kinds, given, meter } = this.#options
    const addresses = this.#addresses
    return { place, workers, kinds, given: given(), addresses, meter, ...serverStateOf(this.#inside) }
  }

  #partsOf(store: string): StoreParts {
    const { storage } = this.#inside
    return storage.partsOf(storage.of(store))
  }

  #receive(worker: WorkerHandle, message: WorkerMessage): void {
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
        this.#inside.shadowLog[message.call](...(message.given as [never, never]))
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
    this.tellLearned(events, from)
  }

  /** Forwards one worker's detection of a database, so that the others need not query it. */
  #learn(from: WorkerHandle, { backend, flavour }: FromWorker & { kind: 'flavour' }): void {
    this.#runtimeOf(backend)?.adoptFlavour(flavour)
    for (const worker of this.#workers.values()) {
      if (worker !== from) void worker.command({ is: 'flavour', backend, flavour })
    }
  }

  #runtimeOf(backend: string): BackendRuntime | undefined {
    return this.#inside.backendRuntimes.find(({ name }) => name === backend)
  }

  #sendTo(threadId: number, message: ToWorker, moved: readonly ArrayBuffer[] = []): void {
    this.#workers.get(threadId)?.send(message, moved)
  }

  /** Releases its memory, lets its waiters continue, and starts a replacement. */
  #lost(worker: WorkerHandle): void {
    const { threadId, place } = worker
    this.#workers.delete(threadId)
    this.#directory.close(threadId)
    this.#claims.close(threadId)
    emptyCell(this.#options.meter, place)
    if (this.#closing === undefined && this.#addresses.size > 0) this.#startAgain(worker)
  }

  #startAgain({ place, startedAt, trouble }: WorkerHandle): void {
    const { clock, telemetry } = this.#options
    const waitMs = this.#backoff.next(place, clock.elapsed() - startedAt)
    const fields = { worker: place, detail: trouble, startedAgainInMs: waitMs }
    telemetry.log.line('error', 'a worker ended; its requests failed, other workers are unaffected', fields)
    clock.after(waitMs, () => {
      if (this.#closing !== undefined) return
      this.#spawn(place).then(
        () => telemetry.log.line('info', 'the worker is back', { worker: place }),
        (error) => telemetry.log.line('error', 'the worker could not be started', { detail: String(error) }),
      )
    })
  }
}
