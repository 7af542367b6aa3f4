/** The options of a server. */
import type { CreatedBackend } from '../../backends/kind.ts'
import type { Clock } from '../../core/clock.ts'
import type { RuntimeSwitches } from '../../core/runtime.ts'
import type { MemoryStoreOptions } from '../../stores/memory/index.ts'
import type { Store } from '../../stores/store.ts'
import type { Observer } from '../../telemetry/telemetry.ts'
import type { ListenerOptions } from '../front/listener.ts'
import type { Limits } from '../limits.ts'
import type { Route } from '../request/routes.ts'
import type { Settings } from '../request/settings.ts'
import type { UpstreamOptions } from '../upstream/upstream.ts'
import type { ServerParts } from './parts.ts'
import type { FarStore } from './tiers.ts'

export interface ProxyServerOptions {
  /** The address of the databases that have none of their own. */
  readonly listen: string
  readonly limits: Limits
  /** All on where it is not given. */
  readonly runtime?: RuntimeSwitches
  readonly clock: Clock
  readonly databases: readonly DatabaseOptions[]
  /** Stores behind the memory of this process, by name; the server closes them. */
  readonly farStores?: ReadonlyMap<string, FarStore>
  /** The far store in which the tokens of clients are counted; without one, in memory. */
  readonly quotaStore?: string
  /** Looks on. */
  readonly telemetry?: Observer
  /** The share of requests without a trace of their own that is traced, while there is a subscriber. */
  readonly sampleRatio?: () => number
  /** TLS on all listeners. */
  readonly tls?: ListenerOptions['tls']
  /** Instead of the memory store, which would be made with these options. */
  readonly store?: (options: MemoryStoreOptions) => Store
  /** Parts that it shares with others instead of creating its own. */
  readonly parts?: ServerParts
}

export interface DatabaseOptions extends CreatedBackend {
  /** Part of every key: two databases never share buckets. */
  readonly name: string
  readonly upstream: DatabaseAddress
  readonly listen?: string
  readonly route?: Route
  /** One of the server's far stores; without one, buckets are in memory only. */
  readonly farStore?: string
  readonly settings: () => Settings
}

export interface DatabaseAddress extends Pick<UpstreamOptions, 'tls' | 'auth' | 'socket'> {
  /** One URL, or those of several equal databases. */
  readonly urls: readonly string[]
}
