/**
 * The threads that serve requests, as the main thread sees them: started with the state in force, sent all changes,
 * served with panes and claims, restarted when one ends, and drained at shutdown.
 */
import { MessageChannel } from 'node:worker_threads'
import { backendChanges } from '../config/backend-changes.ts'
import type { DetectedKinds } from '../config/detect.ts'
import type { LoadOptions } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../engine/learning/sampling.ts'
import type { BackendRuntimeFigures } from '../proxy/assembly/backend-runtime.ts'
import type { PreparedChange } from '../proxy/assembly/listeners.ts'
import type { ServerInternals } from '../proxy/assembly/parts.ts'
import type { Store } from '../stores/store.ts'
import type { ThreadFigures } from '../telemetry/process-figures.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { addUp, bothOf } from './figures.ts'
import type { NamedEvent } from './learned-relay.ts'
import type { WorkerCommand, WorkerFigures, WorkerInit } from './messages.ts'
import { RestartBackoff } from './restart-backoff.ts'
import { sampleInWorkers } from './sampling.ts'
import { emptyCell, type MeterCells } from './shared-meter.ts'
import { heapOfOne } from './shares.ts'
import { errorOf, WorkerHandle } from './worker-handle.ts'
import { WorkerInbox } from './worker-inbox.ts'
import { serverStateOf } from './worker-init.ts'

/** A configuration, as workers need it. */
export interface ServedConfig {
  readonly config: Config
  readonly kinds: DetectedKinds
  readonly given: LoadOptions
}

export interface WorkerPoolOptions {
  readonly workers: number
  readonly clock: Clock
  readonly served: ServedConfig
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
  readonly #urls = new Map<string, string>()
  #served: ServedConfig
  readonly #backoff = new RestartBackoff()
  #internals!: () => ServerInternals
  #inbox!: WorkerInbox
  /** Timers do not keep the process alive; an open port does, while every worker waits to be started again. */
  readonly #keepAlive = new MessageChannel().port1
  #closing: Promise<void> | undefined

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#served = options.served
    this.#keepAlive.on('message', () => {})
  }

  /** The first alone: it finds out which port is taken where any will do. */
  async start(internals: () => ServerInternals, memory: Store): Promise<void> {
    this.#internals = internals
    this.#inbox = new WorkerInbox({ ...this.#options, internals, memory, workers: this.#workers })
    try {
      this.#noteUrls(await this.#spawn(1))
      await Promise.all(Array.from({ length: this.#options.workers - 1 }, (_, i) => this.#spawn(i + 2)))
    } catch (error) {
      await this.close()
      throw error
    }
  }

  get urls(): ReadonlyMap<string, string> {
    return this.#urls
  }

  /** All workers make another configuration ready. @throws WindowpaneError where one cannot; none has changed then. */
  async prepare(next: ServedConfig): Promise<PreparedChange> {
    const ready = new Set<WorkerHandle>()
    const discard = async () => {
      await Promise.all([...ready].map((worker) => worker.command({ is: 'discard' })))
    }
    const urls = new Map<string, string>()
    // One after the other: the first finds out which port is taken where any will do.
    for (const worker of [...this.#workers.values()]) {
      const readiness = await worker.command(this.#preparation(next, urls))
      if (readiness === undefined) continue
      if ('code' in readiness) {
        await discard()
        throw errorOf(readiness)
      }
      ready.add(worker)
      for (const [address, url] of readiness.urls) urls.set(address, url)
    }
    return { urls, discard, commit: () => this.#commit(next, urls, ready) }
  }

  async #commit(
    next: ServedConfig,
    urls: ReadonlyMap<string, string>,
    ready: ReadonlySet<WorkerHandle>,
  ): Promise<void> {
    // Workers that are started from now on begin with it.
    this.#served = next
    for (const [address, url] of urls) this.#urls.set(address, url)
    const used = addressesIn(next.config)
    for (const address of this.#urls.keys()) if (!used.has(address)) this.#urls.delete(address)
    const commit = async (worker: WorkerHandle) => {
      // One that was being started meanwhile may have begun with the one before.
      if (!ready.has(worker)) await worker.command(this.#preparation(next, urls))
      await worker.command({ is: 'commit' })
    }
    await Promise.all([...this.#workers.values()].map(commit))
  }

  #preparation(
    { given, kinds, config }: ServedConfig,
    urls: ReadonlyMap<string, string>,
  ): WorkerCommand & { is: 'prepare' } {
    const { farStores, cells, marks, known } = serverStateOf(this.#internals())
    const { added, changed } = backendChanges(this.#served.config, config)
    const opened = new Map([...known].filter(([name]) => added.includes(name) || changed.includes(name)))
    const addresses = addressesOf(new Map([...this.#urls, ...urls]))
    return { is: 'prepare', given, kinds, addresses, farStores, cells, marks, known: opened }
  }

  /** Memory has another thing of a key than before. */
  changed(key: string): void {
    // Before the threads are started none of them holds a key.
    this.#inbox?.changed(key)
  }

  /** Resolves when every worker has carried it out, or is no more: one that is started later begins with it. */
  async broadcast(command: WorkerCommand): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.command(command)))
  }

  /** Observations of the main thread are evidence for all workers. */
  sendLearned(events: readonly NamedEvent[]): void {
    this.#inbox?.sendLearned(events)
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
    return all.length === 0 ? undefined : all.reduce(bothOf)
  }

  /** Drains all at once. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#keepAlive.close()
    this.#inbox?.close()
    await Promise.all([...this.#workers.values()].map((worker) => worker.close()))
  }

  #noteUrls(urls: ReadonlyMap<string, string>): void {
    const { backends, listen } = this.#served.config
    for (const [name, url] of urls) this.#urls.set(backends[name]!.listen ?? listen, url)
  }

  /** Resolves when it listens. */
  #spawn(place: number): Promise<ReadonlyMap<string, string>> {
    const { clock } = this.#options
    const start = { startedAt: clock.elapsed(), heap: heapOfOne(this.#served.config.limits) }
    const worker = new WorkerHandle(this.#init(place), start)
    this.#workers.set(worker.threadId, worker)
    this.#inbox.open(worker)
    return worker.start({
      onMessage: (message) => this.#inbox.receive(worker, message),
      onExit: () => this.#lost(worker),
    })
  }

  #init(place: number): WorkerInit {
    const { workers, meter } = this.#options
    const { kinds, given } = this.#served
    const addresses = addressesOf(this.#urls)
    return { place, workers, kinds, given, addresses, meter, ...serverStateOf(this.#internals()) }
  }

  /** Releases its memory, lets its waiters continue, and starts a replacement. */
  #lost(worker: WorkerHandle): void {
    const { threadId, place } = worker
    this.#workers.delete(threadId)
    this.#inbox.lost(threadId)
    emptyCell(this.#options.meter, place)
    if (this.#closing === undefined && this.#urls.size > 0) this.#startAgain(worker)
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

/** The actual addresses instead of the configured ones, which may mean "a free port". */
const addressesOf = (urls: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...urls].map(([address, url]) => [address, url.replace(/^https?:\/\//, '')]))

export const addressesIn = ({ listen, backends }: Config): ReadonlySet<string> =>
  new Set(Object.values(backends).map((backend) => backend.listen ?? listen))
