/** Reading the configuration again while the proxy runs: taken as a whole, or refused as a whole. */
import { type Change, diffConfig } from '../config/diff.ts'
import { describeProblem, type LoadedConfig, type RefusedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { ReloadReport } from '../proxy/admin.ts'
import type { ReadConfig } from './config-file.ts'

export interface ReloadOptions {
  /** The configuration in force. */
  readonly loaded: () => LoadedConfig
  readonly read: () => Promise<ReadConfig | RefusedConfig>
  /** Resolves when it is in force. */
  readonly take: (fresh: ReadConfig) => Promise<void>
  /** Told what came of it; the sentence says what was wrong. */
  readonly tell: (isOk: boolean, sentence: string) => void
}

export async function reload({ loaded, read, take, tell }: ReloadOptions): Promise<ReloadReport> {
  const fresh = await read()
  const refusal = refusalOf(loaded().config, fresh)
  if (refusal === undefined && 'config' in fresh) await take(fresh)
  const message = refusal ?? 'the configuration was reloaded'
  tell(refusal === undefined, message)
  return { isOk: refusal === undefined, message }
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
