/** Splits a command line into a command's own flags, the keys of the configuration, and the rest. */
import { flagTarget } from './names.ts'
import type { Flag } from './overrides.ts'
import { bool } from './scalars.ts'
import { definition } from './schema.ts'

export interface SplitArguments {
  /** A command's own flags, by name; a switch has the value ''. */
  readonly own: ReadonlyMap<string, string | undefined>
  readonly flags: readonly Flag[]
  readonly positionals: readonly string[]
}

/** Short names for the keys that are set most often. */
export const shortFlags: Readonly<Record<string, string>> = {
  memory: 'limits.memory',
  'max-stale': 'limits.max-stale',
  identity: 'backends.main.identity',
  staleness: 'policies.default.staleness',
  'ttl-floor': 'policies.default.floor',
  'ttl-doubling': 'policies.default.doubling',
  'ttl-cap': 'policies.default.cap',
}

/**
 * `--key value` and `--key=value`. `own` lists the flags of the command, and whether they take a value. Every other
 * argument with two dashes is taken for a key: the loader knows all keys, and suggests the nearest.
 */
export function splitArguments(
  argv: readonly string[],
  own: Readonly<Record<string, 'switch' | 'value'>>,
): SplitArguments {
  const found = {
    own: new Map<string, string | undefined>(),
    flags: [] as Flag[],
    positionals: [] as string[],
  }
  for (let i = 0; i < argv.length; i++) {
    const text = argv[i]!
    if (!text.startsWith('--')) {
      found.positionals.push(text)
      continue
    }
    const [, typed = '', , inline] = /^--([^=]*)(=(.*))?$/s.exec(text)!
    const kind = Object.hasOwn(own, typed) ? own[typed]! : undefined
    const name = Object.hasOwn(shortFlags, typed) ? shortFlags[typed]! : typed
    const value = inline ?? (hasNext(kind, name, argv[i + 1]) ? argv[++i] : undefined)
    if (kind === undefined) found.flags.push({ name, value, ...(name !== typed && { typed }) })
    else found.own.set(typed, kind === 'switch' ? '' : value)
  }
  return found
}

function hasNext(kind: 'switch' | 'value' | undefined, name: string, next: string | undefined): boolean {
  if (next === undefined || next.startsWith('--') || kind === 'switch') return false
  if (kind === 'value') return true
  const isSwitch = flagTarget(definition, name.split('.'))?.type === bool
  return !isSwitch || next === 'true' || next === 'false'
}
