/** The keys of `backends.<name>` that only some kinds of databases have: taken from the kinds, refused with the others. */
import { isDeepStrictEqual } from 'node:util'
import type { DatabaseKind, ExceptionKey } from '../backends/kind.ts'
import { type Check, type Key, propertyOf } from './definition.ts'

type Kinds = Readonly<Record<string, Pick<DatabaseKind, 'label' | 'section'>>>

type Values = Readonly<Record<string, unknown>>

/**
 * With `type: auto` a database may turn out to be of any kind: every key of every kind can be written. Only the kind knows
 * the types of their values: for the rest of the program there are none.
 */
export const kindKeys = (kinds: Kinds): Readonly<Record<never, Key>> =>
  Object.assign({}, ...Object.values(kinds).map(({ section }) => section.keys))

/** A key of another kind is refused unless it has its default value: `check --print` writes out every default. */
export function keysAreOfItsKind(kinds: Kinds): Check {
  const own: readonly [string, Key][] = Object.entries(kindKeys(kinds))
  return {
    needs: ['type', ...own.map(([name]) => name)],
    run(values: Values & { readonly type: string }, report) {
      const kind = kinds[values.type]
      if (kind === undefined) return
      for (const [name, key] of own.filter(([each]) => !hasKey(kind, each))) {
        const owners = Object.values(kinds).filter((each) => hasKey(each, name))
        for (const path of changedIn(name, key, values)) report(path, onlyWith(owners, kind))
      }
    },
  }
}

type Excepting = Readonly<Record<string, Pick<DatabaseKind, 'label' | 'exceptions'>>>

/** Refuses an exception that the kind of database does not support. */
export function exceptionsAreOfItsKind(kinds: Excepting): Check {
  const usual: Readonly<Record<ExceptionKey, unknown>> = { align: false, edges: 'exact' }
  const names = Object.keys(usual) as readonly ExceptionKey[]
  return {
    needs: ['type', ...names],
    run(values: Values & { readonly type: string }, report) {
      const kind = kinds[values.type]
      if (kind === undefined) return
      for (const name of names) {
        if (values[name] === usual[name] || kind.exceptions?.includes(name)) continue
        const able = Object.values(kinds).filter(({ exceptions }) => exceptions?.includes(name))
        report(name, onlyWith(able, kind))
      }
    },
  }
}

type Labelled = Pick<DatabaseKind, 'label'>

const onlyWith = (able: readonly Labelled[], kind: Labelled): string =>
  `has an effect only with ${able.map(({ label }) => label).join(' and ')}, and this is ${kind.label}`

const hasKey = ({ section }: Kinds[string], name: string): boolean => Object.hasOwn(section.keys, name)

/** The paths below a key at which something else than the default is set. */
function changedIn(name: string, key: Key, values: Values): string[] {
  const value = values[propertyOf(name, key)]
  if (key.type.kind !== 'section') return isDeepStrictEqual(value, key.fallback) ? [] : [name]
  return Object.entries(key.type.keys).flatMap(([below, each]) =>
    changedIn(below, each, value as Values).map((path) => `${name}.${path}`),
  )
}
