/** Reading the configuration again while the proxy runs: taken as a whole, or refused as a whole. */
import { stat } from 'node:fs/promises'
import { type Change, diffConfig } from '../config/diff.ts'
import { describeProblem, type LoadedConfig, type RefusedConfig } from '../config/load.ts'
import { type Clock, type EpochMs, systemClock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { ReloadReport } from '../proxy/admin/admin.ts'
import type { ReadConfig } from './config-file.ts'

export interface ReloadOptions {
  readonly clock: Clock
  /** The configuration in force. */
  readonly loaded: () => LoadedConfig
  readonly read: () => Promise<ReadConfig | RefusedConfig>
  /** Resolves when it is in force. @throws where it cannot be applied; the one before is in force then, whole. */
  readonly apply: (fresh: ReadConfig) => Promise<void>
  /** Called with the result: the message names the mistake, `changes` counts the keys that differ. */
  readonly onReload: (report: ReloadReport, changes: number) => void
}

export interface ReloadState {
  readonly inForceSince: EpochMs
  readonly last?: ReloadReport & { readonly at: EpochMs }
}

export class Reloads {
  readonly #options: ReloadOptions
  #state: ReloadState
  #underWay: Promise<unknown> = Promise.resolve()
  #waiting: Promise<ReloadReport> | undefined

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#state = { inForceSince: options.clock.now() }
  }

  get state(): ReloadState {
    return this.#state
  }

  /** One after the other: a file that was read before a change must not take effect after it. */
  run(): Promise<ReloadReport> {
    if (this.#waiting !== undefined) return this.#waiting
    const turn = this.#underWay.then(() => {
      this.#waiting = undefined
      return this.#reload()
    })
    this.#waiting = turn
    this.#underWay = turn.catch(() => {})
    return turn
  }

  async #reload(): Promise<ReloadReport> {
    const { clock, loaded, read, apply, onReload } = this.#options
    const fresh = await read()
    const changes = 'config' in fresh ? diffConfig(loaded().config, fresh.config) : []
    const refusal =
      'problems' in fresh ? problemsIn(fresh) : (restartNeeded(changes) ?? (await troubleWith(apply(fresh))))
    const report = { isOk: refusal === undefined, message: refusal ?? 'the configuration was reloaded' }
    const at = clock.now()
    this.#state = { inForceSince: report.isOk ? at : this.#state.inForceSince, last: { ...report, at } }
    onReload(report, changes.length)
    return report
  }
}

/** Why a configuration could not be applied; undefined where it was. */
const troubleWith = (applying: Promise<void>): Promise<string | undefined> =>
  applying.then(
    () => undefined,
    (error) => {
      if (!(error instanceof WindowpaneError)) return `it cannot be applied: ${error}`
      return `${error.message} (${error.code}). ${error.remedy}`
    },
  )

export const problemsIn = ({ problems }: RefusedConfig): string => problems.map(describeProblem).join('\n\n')

/** A change that cannot be applied at run time must not be half applied. */
function restartNeeded(changes: readonly Change[]): string | undefined {
  const fixed = changes.filter(({ apply }) => apply === 'restart')
  if (fixed.length === 0) return undefined
  return `these changes need a restart: ${fixed.map(({ path }) => path).join(', ')}`
}

const pollMs = 2_000

/** Notices changes by polling: events of the file system differ between systems and miss replaced files. */
export function watchFile(file: string, changed: () => void): void {
  let seen: number | undefined
  const look = async () => {
    const time = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    )
    if (seen !== undefined && time !== undefined && time !== seen) changed()
    seen = time ?? seen
    systemClock.after(pollMs, () => void look())
  }
  void look()
}
