/** Which backends a reload opens, closes and opens anew, and which of them are other databases afterwards. */
import { diffConfig } from './diff.ts'
import type { BackendConfig, Config } from './schema.ts'
import { Secret } from './secret.ts'

export interface BackendChanges {
  readonly added: readonly string[]
  /** Opened anew: a key changed that a running backend cannot follow. */
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  /** Of changed backends: they may hold other data now, so cached buckets must not be used. */
  readonly replaced: readonly string[]
}

export function backendChanges(before: Config, after: Config): BackendChanges {
  const names = { added: new Set<string>(), changed: new Set<string>(), removed: new Set<string>() }
  for (const { path, kind, apply } of diffConfig(before, after)) {
    const [section, name, ...rest] = path.split('.')
    if (section !== 'backends' || name === undefined) continue
    if (rest.length > 0) {
      if (apply === 'reopen') names.changed.add(name)
    } else if (kind !== 'changed') names[kind].add(name)
  }
  const changed = [...names.changed]
  const isReplaced = (name: string) => isOtherDatabase(before.backends[name]!, after.backends[name]!)
  return {
    added: [...names.added],
    changed,
    removed: [...names.removed],
    replaced: changed.filter(isReplaced),
  }
}

/** Several URLs are equal databases: one that stays vouches for the new ones. */
function isOtherDatabase(before: BackendConfig, after: BackendConfig): boolean {
  const isMoved = before.socket !== after.socket || !after.url.some((url) => before.url.includes(url))
  return isMoved || before.type !== after.type || !isSameLogin(before.auth, after.auth)
}

/** The answers of the database may depend on the client. The content of a file is not compared. */
const isSameLogin = (a: BackendConfig['auth'], b: BackendConfig['auth']): boolean =>
  (Object.keys({ ...a, ...b }) as (keyof typeof a)[]).every((key) => {
    const [before, after] = [a[key], b[key]]
    return before instanceof Secret && after instanceof Secret ? before.equals(after) : before === after
  })
