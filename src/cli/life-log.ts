/** Log lines about the life of the proxy: start, reload, drain and end, each with version, configuration and counts. */
import { systemClock } from '../core/clock.ts'
import type { ReloadReport } from '../proxy/admin/admin.ts'
import type { LogFields, LogLevel } from '../telemetry/log.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'

export class LifeLog {
  readonly #telemetry: Telemetry
  readonly #configuration: string
  readonly #startedAt = systemClock.elapsed()

  /** `configuration`: where it comes from, the name of its file or `flags`. */
  constructor(telemetry: Telemetry, configuration: string) {
    this.#telemetry = telemetry
    this.#configuration = configuration
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
    const uptimeSeconds = Math.floor((systemClock.elapsed() - this.#startedAt) / 1000)
    this.#line(level, 'ended', { ...fields, uptimeSeconds, ...this.#counts() })
  }

  #line(level: LogLevel, message: string, fields: LogFields): void {
    this.#telemetry.log.line(level, message, { version, configuration: this.#configuration, ...fields })
  }

  #counts(): LogFields {
    const counts = this.#telemetry.metrics.counts()
    const requests = Object.values(counts).reduce((sum, count) => sum + count, 0)
    return { requests, ...counts }
  }
}
