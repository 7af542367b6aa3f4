/** Several workers behind one keeper, from the configuration; or none, where one thread is to do everything. */
import { createServer } from 'node:net'
import type { DetectedKinds } from '../config/detect.ts'
import type { LoadOptions } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { Budget } from '../core/budget.ts'
import { systemClock as clock } from '../core/clock.ts'
import type { HouseOptions } from '../proxy/assembly/server.ts'
import { openListener } from '../proxy/front/listener.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store } from '../stores/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Crew } from './crew.ts'
import { collectorOf, shareBodies } from './shared-bodies.ts'
import { meterCells, SharedMeter } from './shared-meter.ts'
import { paneBytesOf, workersOf } from './shares.ts'

export interface RunningCrew {
  /** For the server of the keeper: it has the stores, the marks and everything that looks on, and serves no requests. */
  readonly server: Required<Pick<HouseOptions, 'store' | 'parts'>>
  readonly spans: Crew['spans']
  readonly threads: Crew['threads']
  /** Resolves when another configuration is in force in all workers. */
  take(given: LoadOptions): Promise<void>
}

export interface CrewParts {
  readonly config: Config
  /** What the databases are. */
  readonly kinds: DetectedKinds
  /** What the configuration in force is made of. */
  readonly given: () => LoadOptions
  readonly telemetry: Telemetry
}

/** Undefined where one thread is to serve, or several cannot listen on one address. */
export async function crewFor(parts: CrewParts): Promise<RunningCrew | undefined> {
  const { config, kinds, given, telemetry } = parts
  const workers = workersOf(config)
  if (workers === 1) return undefined
  if (!(await canShareAddresses())) {
    telemetry.log.line('warn', 'one worker serves: here, several cannot listen on one address', { workers })
    return undefined
  }
  await findTaken(config)
  const { limits, runtime } = config
  const meter = meterCells(workers + 1)
  const budget = new Budget(paneBytesOf(limits), { meter: new SharedMeter({ cells: meter, own: 0 }) })
  const onBytes = shareBodies(limits.memoryBytes, collectorOf(runtime))
  const relieve = () => void budget.relieve()
  const crew = new Crew({ workers, clock, config, kinds, given, telemetry, meter, onBytes, relieve })
  let memory: Store | undefined
  return {
    get spans() {
      return crew.spans
    },
    get threads() {
      return crew.threads
    },
    take: (fresh) => crew.tell({ is: 'configuration', given: fresh }),
    server: {
      store(_, options) {
        memory = memoryStore({ ...options, threads: workers + 1, onChange: (key) => crew.changed(key) })
        return memory
      },
      parts: {
        budget,
        openListeners: (inside) => crew.start(inside, memory!),
        figures: (backend) => crew.figures(backend),
        hooks: {
          onMarks: (store, marks) => crew.tell({ is: 'marks', store, marks }),
          onVouched: (backend, vouched) => crew.tell({ is: 'vouched', backend, vouched }),
          onMode: (backend, mode) => crew.tell({ is: 'mode', backend, mode }),
        },
      },
    },
  }
}

/** Linux and most BSDs can; elsewhere the system refuses. */
function canShareAddresses(): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port: 0, reusePort: true }, () => server.close(() => resolve(true)))
  })
}

/** Workers would share an address with another Windowpane that has some, too: then requests went to either. */
async function findTaken({ listen, backends, limits }: Config): Promise<void> {
  const addresses = new Set(Object.values(backends).map((backend) => backend.listen ?? listen))
  for (const address of addresses) {
    const listener = await openListener({ address, limits, clock }, () => {})
    await listener.close()
  }
}
