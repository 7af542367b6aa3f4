/** A thread that serves requests: its own listeners, connections and answers; panes, marks and settings from the main thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { backendChanges } from '../config/backend-changes.ts'
import type { Config } from '../config/schema.ts'
import { serverOptionsOf, storesInUse } from '../config/settings.ts'
import { openTraces, type Traces } from '../config/traces.ts'
import { Budget } from '../core/budget.ts'
import { systemClock as clock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { type GarbageWatch, garbageWatchOf } from '../core/garbage.ts'
import type { PreparedChange } from '../proxy/assembly/listeners.ts'
import { retentionOf } from '../proxy/assembly/own-storage.ts'
import type { ServerParts } from '../proxy/assembly/parts.ts'
import { type ProxyServer, startServer } from '../proxy/assembly/server.ts'
import type { Cells } from '../stores/cells.ts'
import { logWarnings } from '../telemetry/log.ts'
import { watchThread } from '../telemetry/process-figures.ts'
import { Replica } from './cache/replica.ts'
import { RemoteCells } from './cells.ts'
import { RemoteClaims } from './claims.ts'
import { reportFigures } from './figure-reporter.ts'
import { LearnedRelay, type NamedEvent } from './learned-relay.ts'
import type {
  CommandAnswer,
  FromWorker,
  PreparedState,
  Readiness,
  ToWorker,
  WorkerCommand,
  WorkerFailure,
  WorkerInit,
} from './messages.ts'
import { RemotePieceMaker } from './pieces.ts'
import { Relay } from './relay.ts'
import { RelayedShadowLog } from './relayed-shadow-log.ts'
import { shareBodies } from './shared-bodies.ts'
import { SharedMeter } from './shared-meter.ts'
import { limitsOfOne, maxPaneBytesOf, paneBytesOf, spareWith } from './shares.ts'
import { configFrom, ThreadConfig } from './thread-config.ts'
import { ThreadStorage } from './thread-storage.ts'

/** Evictions are requested from the main thread no more often than this. */
const tightEveryMs = 10

interface Prepared {
  readonly config: Config
  readonly change: PreparedChange
}

class ServingThread {
  readonly #port: MessagePort
  readonly #init: WorkerInit
  readonly #config: ThreadConfig
  readonly #relay: Relay
  readonly #learned: LearnedRelay
  readonly #replica: Replica
  readonly #claims: RemoteClaims
  readonly #cells: RemoteCells
  readonly #pieces: RemotePieceMaker
  readonly #budget: Budget
  readonly #garbage: GarbageWatch | undefined
  #storage: ThreadStorage | undefined
  #server: ProxyServer | undefined
  #starting: Promise<void> | undefined
  #prepared: Prepared | undefined
  #traces: Traces | undefined
  #stopReports: (() => void) | undefined
  #wasTightAt = Number.NEGATIVE_INFINITY

  constructor(port: MessagePort, init: WorkerInit) {
    this.#port = port
    this.#init = init
    this.#config = new ThreadConfig(init.given)
    const { limits, runtime } = this.#config.current
    const garbage = garbageWatchOf(limits.memoryBytes, init.workers, runtime)
    shareBodies(garbage)
    this.#garbage = garbage
    const meter = new SharedMeter({
      cells: init.meter,
      own: init.place,
      tightAbove: paneBytesOf(limits, init.workers),
      onTight: () => this.#tight(),
    })
    const { workers: threads } = init
    this.#budget = new Budget(limits.memoryBytes, { meter, threads, spare: spareWith(limits, threads) })
    const send = (message: FromWorker) => this.#send(message)
    this.#relay = new Relay({ clock, send })
    this.#learned = new LearnedRelay({ clock, send })
    logWarnings(this.#relay.log)
    this.#replica = new Replica({
      ...{ send, clock, budget: this.#budget },
      onBytes: (bytes) => garbage?.countShared(bytes),
      maxPaneBytes: maxPaneBytesOf(limits, init.workers),
      farStores: new Set(init.farStores),
      noticeMsOf: (store) => this.#config.current.stores[store]?.noticeMs,
    })
    this.#claims = new RemoteClaims({ send, revisionOf: (key) => this.#replica.revisionOf(key) })
    this.#cells = new RemoteCells(send)
    this.#pieces = new RemotePieceMaker((message, moved) => this.#send(message, moved))
    port.on('message', (message: ToWorker) => this.#receive(message))
  }

  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const config = this.#config.current
    const { workers, kinds, addresses, marks, modes, cells } = this.#init
    const databases = await this.#config.databasesOf(config, { kinds, addresses })
    const { limits } = config
    const retentionMs = retentionOf({ limits, databases })
    this.#storage = new ThreadStorage(
      { replica: this.#replica, claims: this.#claims, clock, retentionMs },
      { marks, cells: this.#remoteCells(cells) },
    )
    this.#traces = openTraces(config, this.#relay)
    const server = await startServer({
      ...serverOptionsOf(config),
      ...{ clock, databases, telemetry: this.#relay },
      listen: addresses.get(config.listen) ?? config.listen,
      limits: limitsOfOne(limits, workers),
      sampleRatio: () => this.#config.current.telemetry.traces.sampleRatio,
      parts: this.#partsWith(this.#storage),
    })
    this.#server = server
    for (const [name, mode] of modes) this.#runtimeOf(name)?.modes.set(mode)
    const thread = watchThread(clock)
    this.#stopReports = reportFigures({
      clock,
      figures: () => ({
        databases: new Map(server.databases.map(({ name, figures }) => [name, figures()])),
        thread: thread(),
        spans: this.#traces?.figures,
      }),
      send: (figures) => this.#send({ kind: 'figures', figures }),
    })
    this.#send({ kind: 'ready', urls: new Map(server.databases.map(({ name, url }) => [name, url])) })
  }

  #partsWith(storage: ThreadStorage): ServerParts {
    const { workers: servers, via, known, place } = this.#init
    return {
      ...{ storage, servers, via, known, reusePort: true, opensSockets: place === 1 },
      ...{ budget: this.#budget, garbage: this.#garbage, pieceMaker: this.#pieces },
      shadowLog: new RelayedShadowLog({ clock, budget: this.#budget }, (found) => this.#send(found)),
      hooks: {
        onFlavour: (backend, flavour) => this.#send({ kind: 'flavour', backend, flavour }),
        onMark: (store, mark) => this.#send({ kind: 'mark', store, mark }),
        onLearned: (backend, event) => this.#learned.add(backend, event),
      },
    }
  }

  /** The memory in `moved` is the main thread's from now on. */
  #send(message: FromWorker, moved: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, moved)
  }

  #receive(message: ToWorker): void {
    if (message.kind === 'claimed') this.#claims.receive(message)
    else if (message.kind === 'cells-done') this.#cells.receive(message)
    else if (message.kind === 'pieces-made') this.#pieces.receive(message)
    else if (message.kind === 'taken') this.#relay.taken()
    else if (message.kind === 'learned-taken') this.#learned.taken()
    else if (message.kind === 'learned') void this.#apply(message.events)
    else if (message.kind === 'command') void this.#carryOut(message.id, message.command)
    else this.#replica.receive(message)
  }

  /** Events that arrive during the start are applied after it: the initial evidence does not contain them. */
  async #apply(events: readonly NamedEvent[]): Promise<void> {
    await this.#starting
    for (const { backend, event } of events) this.#runtimeOf(backend)?.learning.apply(event)
  }

  async #carryOut(id: number, command: WorkerCommand): Promise<void> {
    if (command.is === 'marks') this.#storage?.followMarks(command.store, command.marks)
    // Commands that arrived while it was starting are executed in order.
    else await this.#starting
    if (command.is === 'mode') this.#runtimeOf(command.backend)?.modes.set(command.mode)
    else if (command.is === 'flavour') this.#runtimeOf(command.backend)?.flavour.adopt(command.flavour)
    else if (command.is === 'vouched') this.#runtimeOf(command.backend)?.witness?.follow(command.vouched)
    else if (command.is === 'evidence') this.#runtimeOf(command.backend)?.learning.follow(command.change)
    else if (command.is === 'limits') this.#server?.limiters.registry.forget(command.target)
    else if (command.is === 'commit') await this.#commit()
    else if (command.is === 'discard') await this.#discard()
    else if (command.is === 'close') await this.#close()
    this.#send({ kind: 'done', id, answer: await this.#answerTo(command) })
    if (command.is === 'close') this.#port.close()
  }

  async #answerTo(command: WorkerCommand): Promise<CommandAnswer> {
    if (command.is === 'prepare') return this.#prepare(command)
    if (command.is === 'sampled-keys') return this.#runtimeOf(command.backend)?.sampling.keys ?? []
    if (command.is !== 'sample') return undefined
    const sampled = (await this.#runtimeOf(command.backend)?.sampling.run(command.order)) ?? 'idle'
    // A client that has the answer finds the new evidence in the TTLs.
    this.#learned.flush()
    return sampled
  }

  async #prepare(state: PreparedState): Promise<Readiness> {
    try {
      const config = configFrom(state.given)
      const { added, changed, replaced } = backendChanges(this.#config.current, config)
      for (const name of state.farStores) this.#replica.addFarStore(name)
      this.#storage!.follow({ marks: state.marks, cells: this.#remoteCells(state.cells) })
      const opened = await this.#config.databasesOf(config, state, [...added, ...changed])
      const names = Object.keys(config.backends)
      const change = await this.#server!.prepare({ names, opened, replaced, known: state.known })
      this.#prepared = { config, change }
      return { urls: change.urls }
    } catch (error) {
      return failureOf(error)
    }
  }

  async #commit(): Promise<void> {
    if (this.#prepared === undefined) return
    const { config, change } = this.#prepared
    this.#prepared = undefined
    this.#config.adopt(config)
    await change.commit()
    this.#storage!.keep(storesInUse(config))
  }

  async #discard(): Promise<void> {
    await this.#prepared?.change.discard()
    this.#prepared = undefined
  }

  #remoteCells(known: WorkerInit['cells']): ReadonlyMap<string, Cells> {
    return new Map([...known].map(([name, each]) => [name, this.#cells.of(name, each)]))
  }

  async #close(): Promise<void> {
    await this.#server?.close()
    await this.#traces?.close()
    this.#stopReports?.()
    this.#relay.flush()
    this.#learned.flush()
  }

  #runtimeOf(name: string) {
    return this.#server?.databases.find((database) => database.name === name)?.backendRuntime
  }

  #tight(): void {
    const now = clock.elapsed()
    if (now - this.#wasTightAt < tightEveryMs) return
    this.#wasTightAt = now
    this.#send({ kind: 'tight' })
  }
}

function failureOf(error: unknown): WorkerFailure {
  if (!(error instanceof WindowpaneError)) throw error
  const { code, message, remedy } = error
  return { code, message, remedy }
}

if (parentPort !== null) {
  try {
    await new ServingThread(parentPort, workerData as WorkerInit).start()
  } catch (error) {
    parentPort.postMessage({ kind: 'failed', ...failureOf(error) } satisfies FromWorker)
    parentPort.close()
  }
}
