/** The changes of a reload, and whether they can be applied while running. */
import type { Apply, Plain, Type } from './definition.ts'
import { type Config, definition } from './schema.ts'
import { Secret } from './secret.ts'
import { partsOf, shown } from './view.ts'
import { join } from './words.ts'

export interface Change {
  readonly path: string
  readonly kind: 'changed' | 'added' | 'removed'
  /** As a human writes it, stars for a secret; null where it was not set, and for whole entries. */
  readonly before: Plain | null
  readonly after: Plain | null
  readonly apply: Apply
}

export function diffConfig(before: Config, after: Config): Change[] {
  return compare({ type: definition, before, after, path: '', apply: 'live' })
}

interface Pair {
  readonly type: Type
  readonly before: unknown
  readonly after: unknown
  readonly path: string
  readonly apply: Apply
}

function compare(pair: Pair): Change[] {
  const { type, before, after, path, apply } = pair
  if (type.kind === 'scalar') return compareScalars(pair)
  if (type.kind === 'variants' && tagOf(before) !== tagOf(after)) {
    // With another type the earlier keys have no meaning.
    return [{ path: join(path, 'type'), kind: 'changed', before: tagOf(before), after: tagOf(after), apply }]
  }
  const [old, fresh] = [before, after].map(
    (value) => new Map(partsOf({ type, value }).map((part) => [part.name, part])),
  )
  const names = new Set([...old!.keys(), ...fresh!.keys()])
  return [...names].flatMap((name) => {
    const [a, b] = [old!.get(name), fresh!.get(name)]
    const at = join(path, name)
    if (a === undefined || b === undefined) {
      const kind = a === undefined ? 'added' : 'removed'
      // Named entries can come and go while the process runs: other keys show which of them are used.
      return [
        { path: at, kind, before: null, after: null, apply: type.kind === 'named' ? 'live' : apply } as const,
      ]
    }
    const needed = stronger(apply, a.key?.apply ?? 'live')
    return compare({ type: a.type, before: a.value, after: b.value, path: at, apply: needed })
  })
}

const order: readonly Apply[] = ['live', 'reopen', 'restart']

const stronger = (a: Apply, b: Apply): Apply => (order.indexOf(a) < order.indexOf(b) ? b : a)

const tagOf = (value: unknown): string => (value as { readonly type: string }).type

function compareScalars({ type, before, after, path, apply }: Pair): Change[] {
  const isSame =
    before instanceof Secret && after instanceof Secret
      ? before.equals(after)
      : shown(type, before) === shown(type, after)
  return isSame
    ? []
    : [{ path, kind: 'changed', before: shown(type, before), after: shown(type, after), apply }]
}
