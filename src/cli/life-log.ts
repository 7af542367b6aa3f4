/** Log lines about the life of the proxy: start, reload, drain and end, each with version, configuration and counts. */
import type { Clock } from '../core/clock.ts'
import type { ReloadReport } from '../proxy/admin/admin.ts'
import type { LogFields, LogLevel } from '../telemetry/log.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'

export interface LifeLogOptions {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Where the configuration comes from: the name of its file, or `flags`. */
  readonly configuration: string
}

export class LifeLog {
  readonly #options: LifeLogOptions
  readonly #startedAt: number

  constructor(options: LifeLogOptions) {
    this.#options = options
    this.#startedAt = options.clock.elapsed()
  }

  /** One line per database. */
  listening(fields: LogFields): void {
    this.#line('info', 'listening', { pid: process.pid, node: process.versions.node, ...fields })
  }

  reloaded({ isOk, message }: ReloadReport, changes: number): void {
    if (isOk) this.#line('info', message, { changes, ...this.#counts() })
    else this.#line('warn', 'the new configuration is refused', { detail: message, ...this.#counts() })
  }

  draining(signal: string, requestsInFlight: number): void {
    this.#line('info', 'draining', { signal, requestsInFlight, ...this.#counts() })
  }

  /** `detail`: why it ended otherwise than by draining. */
  ended(level: LogLevel, fields: LogFields = {}): void {
    const { clock } = this.#options
    const uptimeSeconds = Math.floor((clock.elapsed() - this.#startedAt) / 1000)
    this.#line(level, 'ended', { ...fields, uptimeSeconds, ...this.#counts() })
  }

  #line(level: LogLevel, message: string, fields: LogFields): void {
    const { telemetry, configuration } = this.#options
    telemetry.log.line(level, message, { version, configuration, ...fields })
  }

  #counts(): LogFields {
    const counts = this.#options.telemetry.metrics.counts()
    const requests = Object.values(counts).reduce((sum, count) => sum + count, 0)
    return { requests, ...counts }
  }
}
