/** Reading the configuration again while the proxy runs: taken as a whole, or refused as a whole. */
import { type Change, diffConfig } from '../config/diff.ts'
import { describeProblem, type LoadedConfig, type RefusedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { ReloadReport } from '../proxy/admin/admin.ts'
import type { ReadConfig } from './config-file.ts'

export interface ReloadOptions {
  readonly clock: Clock
  /** The configuration in force. */
  readonly loaded: () => LoadedConfig
  readonly read: () => Promise<ReadConfig | RefusedConfig>
  /** Resolves when it is in force. */
  readonly apply: (fresh: ReadConfig) => Promise<void>
  /** Told what came of it; the sentence says what was wrong. */
  readonly report: (isOk: boolean, sentence: string) => void
}

export interface ReloadState {
  readonly inForceSince: EpochMs
  /** What came of reading it again the last time. */
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

  /** One after the other: what was read before a change of the file must not be taken after it. */
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
    const { clock, loaded, read, apply, report } = this.#options
    const fresh = await read()
    const refusal = refusalOf(loaded().config, fresh)
    if (refusal === undefined && 'config' in fresh) await apply(fresh)
    const isOk = refusal === undefined
    const message = refusal ?? 'the configuration was reloaded'
    const at = clock.now()
    this.#state = { inForceSince: isOk ? at : this.#state.inForceSince, last: { isOk, at, message } }
    report(isOk, message)
    return { isOk, message }
  }
}

export const problemsIn = ({ problems }: RefusedConfig): string => problems.map(describeProblem).join('\n\n')

/** Why a configuration cannot take the place of the one in force. */
function refusalOf(inForce: Config, fresh: LoadedConfig | RefusedConfig): string | undefined {
  return 'problems' in fresh ? problemsIn(fresh) : restartNeeded(diffConfig(inForce, fresh.config))
}

/** A change that cannot be applied at run time must not be half applied. */
function restartNeeded(changes: readonly Change[]): string | undefined {
  const fixed = changes.filter(({ apply, kind, path }) => {
    const isWholeBackend = kind !== 'changed' && /^backends\.[^.]+$/.test(path)
    return apply === 'restart' || isWholeBackend
  })
  if (fixed.length === 0) return undefined
  return `these changes need a restart: ${fixed.map(({ path }) => path).join(', ')}`
}
