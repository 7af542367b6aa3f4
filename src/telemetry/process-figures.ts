/** Resource usage of this process: memory, CPU, and the delay of its event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock, EpochMs } from '../core/clock.ts'

export interface ProcessFigures {
  readonly cpuSeconds: number
  readonly startedAt: EpochMs
  readonly residentBytes: number
  readonly heapBytes: number
  readonly externalBytes: number
  /** Since the last reading. */
  readonly lagSeconds: { readonly p50: number; readonly p99: number; readonly max: number }
}

export type ThreadFigures = Pick<ProcessFigures, 'heapBytes' | 'lagSeconds'>

/** The delay is that of a timer; an idle loop shows this resolution. */
const resolutionMs = 10

export function watchProcess(clock: Clock): () => ProcessFigures {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  const startedAt = clock.now() - process.uptime() * 1000
  return () => {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, external } = process.memoryUsage()
    const lagSeconds = {
      p50: lag(delay.percentile(50)),
      p99: lag(delay.percentile(99)),
      max: lag(delay.max),
    }
    delay.reset()
    return {
      cpuSeconds: (user + system) / 1e6,
      startedAt,
      residentBytes: rss,
      heapBytes: heapUsed,
      externalBytes: external,
      lagSeconds,
    }
  }
}

/** Those of a thread: read again when the last reading is this old. */
const readEveryMs = 10_000

export function watchThread(clock: Clock): () => ThreadFigures {
  const read = watchProcess(clock)
  let [figures, readAt]: [ThreadFigures, number] = [read(), clock.elapsed()]
  return () => {
    if (clock.elapsed() - readAt >= readEveryMs) {
      figures = read()
      readAt = clock.elapsed()
    }
    return { heapBytes: figures.heapBytes, lagSeconds: figures.lagSeconds }
  }
}

/** One process with several threads: heaps add up, and the event loop that is late most is the one that hurts. */
export function withThreads(own: ProcessFigures, threads: readonly ThreadFigures[]): ProcessFigures {
  const most = (of: keyof ProcessFigures['lagSeconds']) =>
    Math.max(own.lagSeconds[of], ...threads.map(({ lagSeconds }) => lagSeconds[of]))
  return {
    ...own,
    heapBytes: threads.reduce((sum, { heapBytes }) => sum + heapBytes, own.heapBytes),
    lagSeconds: { p50: most('p50'), p99: most('p99'), max: most('max') },
  }
}

/** From the nanoseconds between two ticks to the delay of the second. */
const lag = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000)
