/** The parts of one database behind the proxy that face the database: its connections, and the watch over its segments. */
import { WindowpaneError } from '../../core/errors.ts'
import { withoutCredentials } from '../../core/url.ts'
import { Witness } from '../../engine/witness.ts'
import { Tracing } from '../../telemetry/tracing.ts'
import type { Settings } from '../request/settings.ts'
import type { Concurrency } from '../upstream/slots.ts'
import { onlyServer, TracedUpstream } from '../upstream/traced.ts'
import { SegmentWatcher } from '../upstream/witness.ts'
import type { BackendRuntimeOptions } from './backend-runtime.ts'
import type { Common } from './common.ts'

const probeMs = 10_000

/** The connections to a database, and the hooks that trace what is sent over them. */
export function upstreamOf(
  { clock, limits, pace, via, telemetry, sampleRatio, servers }: Common,
  { name, backend, upstream: { urls, ...address } }: BackendRuntimeOptions,
  settings: () => Settings,
): { readonly upstream: TracedUpstream; readonly hooks: ReturnType<Tracing['around']> } {
  const url = urls.map(upstreamUrl)
  const tracing = new Tracing({ clock, backend: name, server: onlyServer(url), sampleRatio })
  const connections = { connections: limits.upstreamConnections, idleTimeoutMs: limits.upstreamTimeoutMs }
  const onHeldCut = () => telemetry?.metrics.observeCut('held_connection')
  const concurrency = () => partOf(settings().concurrency, servers)
  // With one database there is nothing to choose: querying it is the probe.
  const probe = urls.length > 1 && { probe: { path: backend.flavour.path, intervalMs: probeMs } }
  const upstream = new TracedUpstream(
    { ...address, ...connections, ...probe, url, clock, pace, via, onHeldCut, concurrency },
    tracing,
  )
  return { upstream, hooks: tracing.around(telemetry?.hooks(name)) }
}

interface WatchedSegments {
  readonly witness?: Witness
  /** Where no other thread watches them. */
  readonly watcher?: SegmentWatcher
}

export function segmentsOf(
  { clock, telemetry, hooks: { onVouched } }: Common,
  { name, backend: { segments }, segments: settings, mark, known }: BackendRuntimeOptions,
  upstream: TracedUpstream,
): WatchedSegments {
  if (settings === undefined) return {}
  if (segments === undefined) {
    telemetry?.log.line('warn', 'segments are not watched: this database exposes none', { backend: name })
    return {}
  }
  const witness = new Witness()
  if (known !== undefined) return { witness }
  const watcher = new SegmentWatcher({
    ...{ backend: name, segments, settings, upstream, clock, witness, mark },
    onVouched: (vouched) => onVouched?.(name, vouched),
    log: telemetry?.log,
  })
  return { witness, watcher }
}

/** Each server may send its part of the queries; at least one, or it could not serve. */
const partOf = (all: Concurrency | undefined, servers: number): Concurrency | undefined =>
  all && {
    ...all,
    limit: Math.max(1, Math.floor(all.limit / servers)),
    queue: Math.ceil(all.queue / servers),
  }

function upstreamUrl(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  const shown = withoutCredentials(text)
  throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `"${shown}" is not the URL of a database`, {
    remedy: 'Give a URL such as http://prometheus:9090.',
  })
}
