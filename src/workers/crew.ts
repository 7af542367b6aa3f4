/**
 * The threads that serve requests, as the keeper sees them: started with what is in force, told of what changes, served
 * with panes and claims, started again when one ends, and drained at the end.
 */
import { MessageChannel, Worker } from 'node:worker_threads'
import type { DetectedKinds } from '../config/detect.ts'
import type { LoadOptions } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { Inside } from '../proxy/assembly/parts.ts'
import type { SiteFigures } from '../proxy/assembly/site.ts'
import type { Listener } from '../proxy/front/listener.ts'
import type { Store } from '../stores/store.ts'
import type { ThreadFigures } from '../telemetry/process-figures.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Directory } from './cache/directory.ts'
import { ClaimTable } from './claims.ts'
import { addUp, noFigures } from './figures.ts'
import type { Briefing, FromWorker, Order, ToWorker, WorkerFigures } from './messages.ts'
import { recordsIn } from './record-columns.ts'
import type { Batch } from './relay.ts'
import { emptyCell, type MeterCells } from './shared-meter.ts'

export interface CrewOptions {
  readonly workers: number
  readonly clock: Clock
  readonly config: Config
  /** What the databases are. */
  readonly kinds: DetectedKinds
  /** What the configuration in force is made of. */
  readonly given: () => LoadOptions
  readonly telemetry: Telemetry
  /** Cell 0 is the keeper's. */
  readonly meter: MeterCells
  /** Told of memory that workers have made. */
  readonly onBytes: (bytes: number) => void
  /** Evicts until a part of the budget is free again. */
  readonly relieve: () => void
}

interface Member {
  readonly place: number
  readonly thread: Worker
  readonly threadId: number
  /** Orders that it has not carried out yet. */
  readonly orders: Map<number, () => void>
  figures: WorkerFigures
  readonly startedAt: number
  /** Why it ended, where it said so. */
  trouble: string | undefined
}

const firstBackoffMs = 500
const maxBackoffMs = 30_000
/** A worker that ran for this long did not fail at its start. */
const steadyMs = 60_000

/** V8's own young generation of 64 MB in every thread would be more than a small `limits.memory`. */
const threadHeap = { maxYoungGenerationSizeMb: 16 }

export class Crew {
  readonly #options: CrewOptions
  readonly #members = new Map<number, Member>()
  readonly #addresses = new Map<string, string>()
  readonly #backoffMs = new Map<number, number>()
  #inside!: Inside
  #directory!: Directory
  #claims!: ClaimTable
  /** Timers do not keep the process alive; an open port does, while every worker waits to be started again. */
  readonly #vigil = new MessageChannel().port1
  #lastOrder = 0
  #closing: Promise<void> | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    this.#vigil.on('message', () => {})
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
      outer: (store) => storage.claimsOf(storage.of(store)),
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
    // Before the threads are started nobody holds anything.
    this.#directory?.changed(key)
  }

  /** Resolves when every worker has carried it out, or is no more: one that is started later begins with it. */
  async tell(order: Order): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => this.#order(member, order)))
  }

  figures(backend: string): SiteFigures {
    return addUp([...this.#members.values()].map(({ figures }) => figures.databases.get(backend)))
  }

  get threads(): readonly ThreadFigures[] {
    return [...this.#members.values()].flatMap(({ figures: { thread } }) => (thread ? [thread] : []))
  }

  /** Undefined where nothing is traced. */
  get spans(): WorkerFigures['spans'] {
    const all = [...this.#members.values()].flatMap(({ figures: { spans } }) => (spans ? [spans] : []))
    if (all.length === 0) return undefined
    return all.reduce((a, b) => ({ sent: a.sent + b.sent, dropped: a.dropped + b.dropped }))
  }

  /** Drains all at once. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#vigil.close()
    await Promise.all(
      [...this.#members.values()].map(async (member) => {
        await this.#order(member, { is: 'close' })
        await member.thread.terminate()
      }),
    )
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
    const thread = new Worker(workerFile, { workerData: this.#briefing(place), resourceLimits: threadHeap })
    const { threadId } = thread
    const member: Member = {
      ...{ place, thread, threadId, orders: new Map(), figures: noFigures, trouble: undefined },
      startedAt: this.#options.clock.elapsed(),
    }
    this.#members.set(threadId, member)
    this.#directory.open(threadId, (message) => this.#sendTo(threadId, message))
    return new Promise((resolve, reject) => {
      let failure: Error | undefined
      thread.on('message', (message: FromWorker) => {
        if (message.kind === 'ready') resolve(message.urls)
        else if (message.kind === 'failed') failure = failureOf(message)
        else this.#receive(member, message)
      })
      thread.on('error', (error) => {
        member.trouble = String(error)
      })
      thread.on('exit', () => {
        this.#lost(member)
        reject(
          failure ??
            new Error(`a worker ended while it was starting: ${member.trouble ?? 'no reason given'}`),
        )
      })
    })
  }

  #briefing(place: number): Briefing {
    const { workers, kinds, given, meter } = this.#options
    const { storage, sites, via } = this.#inside
    const stores = ['', ...storage.names]
    const overridden = sites.filter(({ modes }) => modes.state.isOverridden)
    return {
      ...{ place, workers, kinds, given: given(), addresses: this.#addresses, via, meter },
      farStores: storage.names,
      marks: new Map(stores.map((name) => [name, storage.marksOf(storage.of(name)).list()])),
      modes: new Map(overridden.map(({ name, modes }) => [name, modes.state.mode])),
      known: new Map(sites.map(({ name, flavour, vouched }) => [name, { flavour, vouched }])),
    }
  }

  #receive(member: Member, message: FromWorker): void {
    const { telemetry } = this.#options
    switch (message.kind) {
      case 'claim':
      case 'release':
        this.#claims.receive(member.threadId, message)
        break
      case 'batch':
        this.#take(member, message)
        break
      case 'topic':
        telemetry.log.change(message.topic, message.state, message.fields)
        break
      case 'shadow':
        this.#inside.shadowLog[message.call](...(message.given as [never, never]))
        break
      case 'figures':
        member.figures = message.figures
        break
      case 'flavour':
        this.#learn(member, message)
        break
      case 'done':
        member.orders.get(message.id)?.()
        break
      case 'tight':
        this.#options.relieve()
        break
      case 'ready':
      case 'failed':
        break
      default:
        this.#directory.receive(member.threadId, message)
    }
  }

  #take({ threadId }: Member, batch: Batch): void {
    const { telemetry } = this.#options
    const { fetches, leftOut } = batch
    for (const record of recordsIn(batch.records)) telemetry.observe(record)
    for (const fetch of fetches) telemetry.metrics.observeFetch(fetch)
    if (leftOut > 0) {
      telemetry.log.line('warn', 'requests were served that are in no metric and no log', {
        requests: leftOut,
      })
    }
    this.#sendTo(threadId, { kind: 'taken' })
  }

  /** What one worker has found out about a database, all others need not. */
  #learn(from: Member, { backend, flavour }: FromWorker & { kind: 'flavour' }): void {
    this.#inside.sites.find(({ name }) => name === backend)?.adoptFlavour(flavour)
    for (const member of this.#members.values()) {
      if (member !== from) void this.#order(member, { is: 'flavour', backend, flavour })
    }
  }

  #order(member: Member, order: Order): Promise<void> {
    const id = ++this.#lastOrder
    return new Promise((resolve) => {
      const over = () => {
        member.orders.delete(id)
        resolve()
      }
      member.orders.set(id, over)
      this.#sendTo(member.threadId, { kind: 'order', id, order })
    })
  }

  #sendTo(threadId: number, message: ToWorker): void {
    this.#members.get(threadId)?.thread.postMessage(message)
  }

  /** What it held is free, whoever waits for it goes on, and another one takes its place. */
  #lost(member: Member): void {
    const { threadId, place, orders } = member
    this.#members.delete(threadId)
    this.#directory.close(threadId)
    this.#claims.close(threadId)
    emptyCell(this.#options.meter, place)
    for (const over of [...orders.values()]) over()
    if (this.#closing === undefined && this.#addresses.size > 0) this.#startAgain(member)
  }

  #startAgain({ place, startedAt, trouble }: Member): void {
    const { clock, telemetry } = this.#options
    const ranMs = clock.elapsed() - startedAt
    const last = ranMs > steadyMs ? 0 : (this.#backoffMs.get(place) ?? 0)
    const waitMs = last === 0 ? firstBackoffMs : Math.min(maxBackoffMs, 2 * last)
    this.#backoffMs.set(place, waitMs)
    const fields = { worker: place, detail: trouble, startedAgainInMs: waitMs }
    telemetry.log.line('error', 'a worker ended; its requests were cut off, those of others were not', fields)
    clock.after(waitMs, () => {
      if (this.#closing !== undefined) return
      this.#spawn(place).then(
        () => telemetry.log.line('info', 'the worker is back', { worker: place }),
        (error) => telemetry.log.line('error', 'the worker could not be started', { detail: String(error) }),
      )
    })
  }
}

/** The compiler renames imports, not this. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

function failureOf({ code, message, remedy }: FromWorker & { kind: 'failed' }): WindowpaneError {
  return new WindowpaneError(code as WindowpaneError['code'], message, { remedy })
}
