/**
 * The soak: a Windowpane with little memory, LMDB and two workers, between clients that check every response and a relay that refuses,
 * cuts, stalls and delays the connections to the database. At the end the relay behaves, and no request may fail any more.
 */
import { readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { adminAddress, type Cleanup, readyAddress, startCommand } from '../../cli/child.ts'
import { containerEnvironment } from '../../deploy/environment.ts'
import { eventually } from '../../wait.ts'
import { load, type Tally } from './clients.ts'
import { startSoakDatabase } from './database.ts'
import { type Fault, startFaultRelay } from './fault-relay.ts'
import { Traffic } from './traffic.ts'

export interface SoakOptions {
  readonly requests: number
  readonly seed: number
  readonly workers: number
  readonly memoryMiB: number
  /** The program to run; the sources by default. */
  readonly main?: string
  readonly onProgress?: (done: number) => void
}

export interface SoakReport {
  readonly tally: Tally
  /** The requests after the relay stopped failing. */
  readonly afterwards: Tally
  readonly seconds: number
  readonly queries: number
  readonly faults: Readonly<Record<Fault, number>>
  readonly peak: Peak
  /** The most that Windowpane itself counted against its budget. */
  readonly usedBytes: number
  readonly storeBytes: number
  /** How the process ended: 0 where it was well to the end. */
  readonly exit: number | string
}

export interface Peak {
  rss: number
  /** The memory of the process itself. The pages of the store's file can be reclaimed by the system. */
  anonymous: number
  file: number
}

export const storeMiB = 64
const requestsAfterwards = 500
const sampleMs = 100

export async function soak(cleanup: Cleanup, options: SoakOptions): Promise<SoakReport> {
  const { requests, seed, onProgress = () => {} } = options
  const clock = systemClock
  const database = await startSoakDatabase()
  const relay = await startFaultRelay({ port: database.port, random: seededRandom(seed), clock })
  const directory = await mkdtemp(join(tmpdir(), 'windowpane-soak-'))
  cleanup.after(async () => {
    relay.close()
    await database.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const child = startCommand(cleanup, [relay.url, ...flagsOf(options, directory)], {
    // As the container and the systemd unit start it.
    env: containerEnvironment(),
    ...(options.main !== undefined && { main: options.main }),
  })
  const [url, admin] = [await readyAddress(child), await adminAddress(child)]
  const traffic = new Traffic(seed, clock)
  const watch = watchMemory(child.process.pid!, admin)
  relay.isFaulty = true
  const began = clock.elapsed()
  const tally = await load({ url, traffic, requests, clock, onProgress })
  const seconds = (clock.elapsed() - began) / 1000
  relay.isFaulty = false
  await recovered(url)
  const afterwards = await load({ url, traffic, requests: requestsAfterwards, clock, onProgress: () => {} })
  const { peak, usedBytes } = await watch.stop()
  child.process.kill('SIGTERM')
  const exit = await child.exit
  const storeBytes = statSync(join(directory, 'panes.mdb')).size
  const { faults } = relay
  return { tally, afterwards, seconds, queries: database.queries, faults, peak, usedBytes, storeBytes, exit }
}

function flagsOf({ workers, memoryMiB }: SoakOptions, directory: string): string[] {
  return [
    ...['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--telemetry.log-level=silent'],
    ...[`--memory=${memoryMiB}MiB`, `--limits.max-answer=${memoryMiB / 4}MiB`, `--workers=${workers}`],
    // A stalled response ends soon, so that stalls do not use up the connections. A busy machine is not to be taken for a slow store.
    ...['--limits.upstream-timeout=5s', '--limits.store-timeout=1m'],
    ...['--stores.disk.type=lmdb', `--stores.disk.path=${directory}`, `--stores.disk.size=${storeMiB}MiB`],
    ...['--stores.disk.reserve=1MiB', '--backends.main.store=disk'],
  ]
}

/** Broken or refused connections are forgotten once requests are answered again. */
async function recovered(url: string): Promise<void> {
  const probe = async () => (await fetch(`${url}/api/v1/series?match[]=recovered`)).status
  let inARow = 0
  await eventually(probe, (status) => {
    inARow = status === 200 ? inARow + 1 : 0
    return inARow === 20
  })
}

interface MemoryWatch {
  stop(): Promise<{ readonly peak: Peak; readonly usedBytes: number }>
}

function watchMemory(pid: number, admin: string): MemoryWatch {
  const peak: Peak = { rss: 0, anonymous: 0, file: 0 }
  let usedBytes = 0
  let isOver = false
  const look = async (): Promise<void> => {
    sample(pid, peak)
    const metrics = await (await fetch(`${admin}/-/metrics`)).text()
    const used = /^windowpane_memory_used_bytes (\S+)$/m.exec(metrics)?.[1]
    usedBytes = Math.max(usedBytes, Number(used))
  }
  const run = async (): Promise<void> => {
    while (!isOver) {
      await look()
      await new Promise<void>((resolve) => systemClock.after(sampleMs, resolve))
    }
  }
  const running = run()
  return {
    async stop() {
      isOver = true
      await running
      return { peak, usedBytes }
    },
  }
}

/** Does nothing where the system has no /proc. */
function sample(pid: number, peak: Peak): void {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return
  }
  const of = (field: string): number =>
    Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) * 1024
  peak.rss = Math.max(peak.rss, of('VmRSS'))
  peak.anonymous = Math.max(peak.anonymous, of('RssAnon'))
  peak.file = Math.max(peak.file, of('RssFile'))
}
