/** A thread that serves requests: its own listeners, connections and answers; panes, marks and settings from the keeper. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type LoadedConfig, type LoadOptions, loadConfig } from '../config/load.ts'
import { databasesOf, settingsOf } from '../config/settings.ts'
import { openTraces, type Traces } from '../config/traces.ts'
import { Budget, spareOf } from '../core/budget.ts'
import { systemClock as clock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { type DatabaseOptions, type House, retentionOf, startHouse } from '../proxy/assembly/server.ts'
import type { Settings } from '../proxy/request/settings.ts'
import { watchThread } from '../telemetry/process-figures.ts'
import { Replica } from './cache/replica.ts'
import { RemoteClaims } from './claims.ts'
import { FigureTeller } from './figure-teller.ts'
import type { Briefing, FromWorker, Order, ToWorker } from './messages.ts'
import { Relay } from './relay.ts'
import { RelayedShadowLog } from './relayed-shadow-log.ts'
import { collectorOf, shareBodies } from './shared-bodies.ts'
import { SharedMeter } from './shared-meter.ts'
import { limitsOfOne, maxPaneBytesOf, paneBytesOf } from './shares.ts'
import { ThreadStorage } from './thread-storage.ts'

/** The keeper is not asked to evict more often than this. */
const tightEveryMs = 10

class ServingThread {
  readonly #port: MessagePort
  readonly #briefing: Briefing
  readonly #relay: Relay
  readonly #replica: Replica
  readonly #claims: RemoteClaims
  readonly #budget: Budget
  #loaded: LoadedConfig
  #settings: ReadonlyMap<string, Settings>
  #storage: ThreadStorage | undefined
  #house: House | undefined
  #starting: Promise<void> | undefined
  #traces: Traces | undefined
  #figures: FigureTeller | undefined
  #wasTightAt = Number.NEGATIVE_INFINITY

  constructor(port: MessagePort, briefing: Briefing) {
    this.#port = port
    this.#briefing = briefing
    this.#loaded = loadedFrom(briefing.given)
    const { limits, runtime } = this.#loaded.config
    const onBytes = shareBodies(limits.memoryBytes, collectorOf(runtime))
    const meter = new SharedMeter({
      cells: briefing.meter,
      own: briefing.place,
      tightAbove: paneBytesOf(limits),
      onTight: () => this.#tight(),
    })
    this.#budget = new Budget(limits.memoryBytes, { meter, spare: spareOf(limits.memoryBytes) })
    this.#settings = settingsOf(this.#loaded.config)
    const send = (message: FromWorker) => this.#send(message)
    this.#relay = new Relay({ clock, send })
    this.#replica = new Replica({
      ...{ send, clock, budget: this.#budget, onBytes },
      maxPaneBytes: maxPaneBytesOf(limits),
      farStores: new Set(briefing.farStores),
    })
    this.#claims = new RemoteClaims({ send, revisionOf: (key) => this.#replica.revisionOf(key) })
    port.on('message', (message: ToWorker) => this.#receive(message))
  }

  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { config } = this.#loaded
    const { cert, key } = config.tls
    const { workers, kinds, addresses, via, known, marks, modes } = this.#briefing
    const parts = { kindOf: (name: string) => kinds.get(name)!.kind, settings: () => this.#settings }
    const databases = (await databasesOf(config, parts)).map((each) => placed(each, addresses))
    const { limits } = config
    const retentionMs = retentionOf({ limits, databases })
    const storage = new ThreadStorage({
      ...{ replica: this.#replica, claims: this.#claims, clock, retentionMs, marks },
    })
    this.#storage = storage
    this.#traces = openTraces(config, this.#relay)
    this.#house = await startHouse({
      ...{ clock, databases, telemetry: this.#relay },
      listen: addresses.get(config.listen) ?? config.listen,
      limits: limitsOfOne(limits, workers),
      runtime: config.runtime,
      sampleRatio: () => this.#loaded.config.telemetry.traces.sampleRatio,
      ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
      parts: {
        ...{ storage, via, known, reusePort: true, budget: this.#budget },
        shadowLog: new RelayedShadowLog({ clock, budget: this.#budget }, (found) => this.#send(found)),
        hooks: { onFlavour: (backend, flavour) => this.#send({ kind: 'flavour', backend, flavour }) },
      },
    })
    for (const [name, mode] of modes) this.#siteOf(name)?.modes.set(mode)
    const house = this.#house
    const thread = watchThread(clock)
    this.#figures = new FigureTeller({
      clock,
      figures: () => ({
        databases: new Map(house.databases.map(({ name, figures }) => [name, figures()])),
        thread: thread(),
        spans: this.#traces?.figures,
      }),
      tell: (figures) => this.#send({ kind: 'figures', figures }),
    })
    this.#send({ kind: 'ready', urls: new Map(house.databases.map(({ name, url }) => [name, url])) })
  }

  #send(message: FromWorker): void {
    this.#port.postMessage(message)
  }

  #receive(message: ToWorker): void {
    if (message.kind === 'claimed') this.#claims.receive(message)
    else if (message.kind === 'taken') this.#relay.taken()
    else if (message.kind === 'order') void this.#obey(message.id, message.order)
    else this.#replica.receive(message)
  }

  async #obey(id: number, order: Order): Promise<void> {
    if (order.is === 'marks') this.#storage?.follow(order.store, order.marks)
    // What was ordered while it was starting is done in turn.
    else await this.#starting
    if (order.is === 'mode') this.#siteOf(order.backend)?.modes.set(order.mode)
    else if (order.is === 'flavour') this.#siteOf(order.backend)?.adoptFlavour(order.flavour)
    else if (order.is === 'vouched') this.#siteOf(order.backend)?.adoptVouched(order.vouched)
    else if (order.is === 'configuration') this.#take(order.given)
    else if (order.is === 'close') await this.#close()
    this.#send({ kind: 'done', id })
    if (order.is === 'close') this.#port.close()
  }

  #take(given: LoadOptions): void {
    this.#loaded = loadedFrom(given)
    this.#settings = settingsOf(this.#loaded.config)
  }

  async #close(): Promise<void> {
    await this.#house?.close()
    await this.#traces?.close()
    this.#figures?.stop()
    this.#relay.flush()
  }

  #siteOf(name: string) {
    return this.#house?.databases.find((database) => database.name === name)?.site
  }

  #tight(): void {
    const now = clock.elapsed()
    if (now - this.#wasTightAt < tightEveryMs) return
    this.#wasTightAt = now
    this.#send({ kind: 'tight' })
  }
}

/** The keeper has read the same and found no fault with it. */
function loadedFrom(given: LoadOptions): LoadedConfig {
  const loaded = loadConfig(given)
  if ('problems' in loaded) throw new Error('a thread reads the configuration differently from the keeper')
  return loaded
}

const placed = (database: DatabaseOptions, addresses: Briefing['addresses']): DatabaseOptions => {
  const listen = database.listen && (addresses.get(database.listen) ?? database.listen)
  return { ...database, ...(listen !== undefined && { listen }) }
}

if (parentPort !== null) {
  try {
    await new ServingThread(parentPort, workerData as Briefing).start()
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    const { code, message, remedy } = error
    parentPort.postMessage({ kind: 'failed', code, message, remedy } satisfies FromWorker)
    parentPort.close()
  }
}
