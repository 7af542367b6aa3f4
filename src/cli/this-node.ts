/** This process' row for the nodes that share a store with it. */
import { hostname } from 'node:os'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { newUuid } from '../core/uuid.ts'
import type { ShadowLog } from '../engine/shadow/log.ts'
import type { ProxyServer } from '../proxy/assembly/server.ts'
import type { NodeFacts } from '../proxy/fleet/node-rows.ts'
import {
  type BackendSummary,
  maxSummaryShapes,
  type NodeSummary,
  type ShadowSummary,
} from '../proxy/fleet/summary.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import { reachable } from './arrival.ts'

export interface ThisNodeOptions {
  readonly config: Config
  readonly server: Pick<ProxyServer, 'databases' | 'shadowLog' | 'memory'>
  readonly telemetry: Pick<Telemetry, 'metrics' | 'shapes'>
}

export class ThisNode {
  /** The URL of the admin listener, once it is open. */
  admin: string | undefined
  readonly #options: ThisNodeOptions
  readonly #id = newUuid(systemClock.random)
  readonly #startedAt = systemClock.now()

  constructor(options: ThisNodeOptions) {
    this.#options = options
  }

  facts(): NodeFacts {
    return {
      id: this.#id,
      name: this.#options.config.node.name ?? hostname(),
      admin: this.admin && reachable(this.admin),
      version,
      pid: process.pid,
      startedAt: this.#startedAt,
    }
  }

  summary(): NodeSummary {
    const { server, telemetry } = this.#options
    const { databases, shadowLog, memory } = server
    const backends = databases.map(({ name, modes: { state } }): BackendSummary => {
      const shadow = shadowOf(shadowLog, name)
      return { name, mode: state.mode, isOverridden: state.isOverridden, ...(shadow && { shadow }) }
    })
    const shapes = telemetry.shapes.list(maxSummaryShapes)
    return { at: systemClock.now(), memory, totals: telemetry.metrics.totals(), backends, shapes }
  }
}

/** Undefined where nothing was looked at. */
function shadowOf(log: ShadowLog, backend: string): ShadowSummary | undefined {
  const { since, comparisons, equal, explained, unexplained, skipped, wouldBe, causes, mismatches } =
    log.report(backend)
  if (comparisons === 0 && Object.keys(skipped).length === 0) return undefined
  const figures = { since, comparisons, equal, explained, unexplained, skipped, wouldBe, causes }
  const examples = mismatches.map(({ id, at, text, window, cause, isExplained, sentence: why }) => ({
    ...{ id, at, backend, text, window, cause, isExplained, sentence: why },
  }))
  return { figures, examples }
}
