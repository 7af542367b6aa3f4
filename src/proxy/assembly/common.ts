/** The resources that all databases of a server share, sized by `limits.memory`. */
import { Budget, BudgetShare, spareOf } from '../../core/budget.ts'
import { garbageWatchOf } from '../../core/garbage.ts'
import { countBodies } from '../../core/pane.ts'
import { allOn } from '../../core/runtime.ts'
import { ingestScratch, ScratchPool } from '../../core/scratch.ts'
import { Backlog } from '../../engine/backlog.ts'
import { ShadowLog, type VerifyResult } from '../../engine/shadow/log.ts'
import { type ProbeOptions, usualProbes } from '../../engine/trip.ts'
import { PackedAnswers } from '../compression/packed.ts'
import { Pieces } from '../compression/pieces.ts'
import { ThreadMaker } from '../compression/pieces-maker.ts'
import { Arrivals } from '../front/arrivals.ts'
import { Planning } from '../request/planning.ts'
import { SharedAnswers } from '../request/shared-answers.ts'
import { Pace } from '../upstream/pace.ts'
import type { ProxyServerOptions } from './options.ts'

type CommonOptions = Pick<
  ProxyServerOptions,
  'clock' | 'limits' | 'runtime' | 'telemetry' | 'sampleRatio' | 'parts'
>

export type Common = ReturnType<typeof commonOf>

export function commonOf(options: CommonOptions) {
  const { clock, limits, runtime = allOn, telemetry, sampleRatio, parts = {} } = options
  const budget = parts.budget ?? new Budget(limits.memoryBytes, { spare: spareOf(limits.memoryBytes) })
  const servers = parts.servers ?? 1
  const memoryBytes = limits.memoryBytes / servers
  const unusedBytes = unusedBytesOf(memoryBytes)
  const onResult = (backend: string, result: VerifyResult) =>
    telemetry?.metrics.observeVerify(backend, result)
  const garbage = parts.garbage ?? garbageWatchOf(limits.memoryBytes, servers, runtime)
  const onBuffer = garbage && ((bytes: number) => garbage.count(bytes))
  ingestScratch.configure(Math.min(ingestBytes, unusedBytes), onBuffer)
  // Bodies in shared memory are counted where they are made.
  countBodies(parts.garbage === undefined ? onBuffer : undefined)
  return {
    ...{ clock, limits, runtime, budget, telemetry, sampleRatio },
    /** Memory of requests that are not complete. */
    arrivals: new Arrivals(budget, limits.maxRequestBytes + limits.maxHeaderBytes, memoryBytes),
    /** Memory of forwarded answers that their clients have not taken yet. */
    forwardBuffers: new BudgetShare(budget, memoryBytes * forwardShare),
    shared: new SharedAnswers(budget),
    scratch: new ScratchPool(unusedBytes, onBuffer),
    packed: new PackedAnswers(budget),
    pace: new Pace({ onRead: onBuffer }),
    backlog: new Backlog(clock, { maxBytes: Math.min(8 * 2 ** 20, unusedBytes) }),
    probes: probesOf(servers),
    pieces: new Pieces(budget, parts.pieceMaker ?? new ThreadMaker()),
    planning: new Planning({ clock, budget, planningMs: limits.planningMs }),
    /** The name of this process in Via. */
    via: parts.via ?? `windowpane-${Math.floor(clock.random() * 2 ** 48).toString(36)}`,
    shadowLog: parts.shadowLog ?? new ShadowLog({ clock, budget, onResult }),
    hooks: parts.hooks ?? {},
    /** That share the limits of the process. */
    servers,
  }
}

/** However many servers there are, a database is probed as often. */
const probesOf = (servers: number): ProbeOptions => ({
  sampleEveryMs: servers * usualProbes.sampleEveryMs,
  sentinelEveryMs: servers * usualProbes.sentinelEveryMs,
})

/** The share of the memory for forwarded answers that clients have not read yet. */
const forwardShare = 1 / 8

/** Memory outside the budget, such as pooled buffers for the next answers, must be small beside it. */
const unusedBytesOf = (memoryBytes: number): number => Math.min(32 * 2 ** 20, memoryBytes / 32)

/** The ingest pool keeps at most this many free bytes, however large the memory limit is. */
const ingestBytes = 16 * 2 ** 20
