/** Starts the worker threads that a configuration asks for; none where one thread serves everything. */
import { createServer } from 'node:net'
import type { Config } from '../config/schema.ts'
import { Budget } from '../core/budget.ts'
import { systemClock as clock } from '../core/clock.ts'
import { garbageWatchOf } from '../core/garbage.ts'
import { heedYoungLimits } from '../core/runtime.ts'
import { socketPathOf } from '../core/socket-address.ts'
import type { Listeners, PreparedChange } from '../proxy/assembly/listeners.ts'
import type { ProxyServerOptions } from '../proxy/assembly/options.ts'
import type { ServerHooks } from '../proxy/assembly/parts.ts'
import { openListener } from '../proxy/front/listener.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store } from '../stores/store.ts'
import { shareBodies } from './shared-bodies.ts'
import { meterCells, SharedMeter } from './shared-meter.ts'
import { paneBytesOf, workersOf } from './shares.ts'
import { addressesIn, type ServedConfig, WorkerPool, type WorkerPoolOptions } from './worker-pool.ts'

export interface RunningWorkerPool {
  /** For the server of the main thread: it has the stores, the marks and everything that looks on, and serves no requests. */
  readonly server: Required<Pick<ProxyServerOptions, 'store' | 'parts'>>
  readonly pool: Pick<WorkerPool, 'spans' | 'threads'>
  /** The next change of the server is to this configuration. */
  stage(next: ServedConfig): void
}

type GivenOptions = Pick<WorkerPoolOptions, 'served' | 'telemetry'>

/** Undefined where one thread is to serve, or several cannot listen on one address. */
export async function startWorkerPool(options: GivenOptions): Promise<RunningWorkerPool | undefined> {
  const { config } = options.served
  const { log } = options.telemetry
  const workers = workersOf(config)
  if (workers === 1) return undefined
  if (!(await canShareAddresses())) {
    const message = 'only one worker serves: this system cannot share an address between several'
    log.line('warn', message, { workers })
    return undefined
  }
  await findTaken(config, new Set())
  for (const address of addressesIn(config)) {
    if (socketPathOf(address) !== undefined)
      log.line('warn', 'one worker serves this unix socket: workers cannot share one', { address })
  }
  return runningPool(options, workers)
}

function runningPool({ served, telemetry }: GivenOptions, workers: number): RunningWorkerPool {
  const { limits, runtime } = served.config
  if (runtime.gcTuning) heedYoungLimits()
  const meter = meterCells(workers + 1)
  const budget = new Budget(paneBytesOf(limits, workers), {
    meter: new SharedMeter({ cells: meter, own: 0 }),
  })
  const garbage = garbageWatchOf(limits.memoryBytes, workers, runtime)
  shareBodies(garbage)
  const onBytes = (bytes: number) => garbage?.countShared(bytes)
  const relieve = () => void budget.relieve()
  const pool = new WorkerPool({ workers, clock, served, telemetry, meter, onBytes, relieve })
  let memory: Store | undefined
  let staged = served
  return {
    pool,
    stage(next) {
      staged = next
    },
    server: {
      store(options) {
        memory = memoryStore({ ...options, threads: workers + 1, onChange: (key) => pool.changed(key) })
        return memory
      },
      parts: {
        ...{ budget, garbage, hooks: hooksTo(pool) },
        listeners: (internals) =>
          poolListeners(
            pool,
            () => pool.start(internals, memory!),
            () => staged,
          ),
        figures: (backend) => pool.figures(backend),
        sample: (backend, order) => pool.sample(backend, order),
      },
    },
  }
}

/** The changes of the main thread's server, sent to all workers. */
const hooksTo = (pool: WorkerPool): ServerHooks => ({
  onMarks: (store, marks) => pool.broadcast({ is: 'marks', store, marks }),
  onVouched: (backend, vouched) => pool.broadcast({ is: 'vouched', backend, vouched }),
  onLearned: (backend, event) => pool.sendLearned([{ backend, event }]),
  onEvidence: (backend, change) => void pool.broadcast({ is: 'evidence', backend, change }),
  onMode: (backend, mode) => pool.broadcast({ is: 'mode', backend, mode }),
  onLimits: (target) => pool.broadcast({ is: 'limits', target }),
})

/** Linux and most BSDs can; elsewhere the system refuses. */
function canShareAddresses(): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port: 0, reusePort: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * The workers listen for the server of the main thread. `start` starts them; `staged` is the configuration that is to be
 * served next.
 */
function poolListeners(pool: WorkerPool, start: () => Promise<void>, staged: () => ServedConfig): Listeners {
  let isStarted = false
  return {
    urlOf: (address) => pool.urls.get(address)!,
    async prepare(): Promise<PreparedChange> {
      if (isStarted) {
        await findTaken(staged().config, new Set(pool.urls.keys()))
        return pool.prepare(staged())
      }
      await start()
      isStarted = true
      return { urls: pool.urls, commit() {}, discard: () => pool.close() }
    },
    close: () => pool.close(),
  }
}

/** Workers would share an address with another Windowpane that has some, too: then requests went to either. */
async function findTaken({ listen, backends, limits }: Config, own: ReadonlySet<string>): Promise<void> {
  const flags = new Map(
    Object.entries(backends).map(([name, { listen: own }]) =>
      own === undefined ? [listen, '--listen'] : [own, `--backends.${name}.listen`],
    ),
  )
  for (const [address, flag] of flags) {
    if (own.has(address)) continue
    const listener = await openListener({ address, flag, limits, clock }, () => {})
    await listener.close()
  }
}
