/** The keys of `backends.<name>` that only some kinds of databases have: taken from the kinds, refused with the others. */
import { isDeepStrictEqual } from 'node:util'
import type { DatabaseKind, ExceptionKey } from '../backends/kind.ts'
import { type Check, type Key, type Keys, propertyOf, type Section } from './definition.ts'
import { url } from './text-scalars.ts'

type Kinds = Readonly<Record<string, Pick<DatabaseKind, 'label' | 'section'>>>

/** An address as clients of a kind write it is likely to mean the URL of their database. */
export const databaseUrl = (kinds: Readonly<Record<string, Pick<DatabaseKind, 'urlIn'>>>): typeof url => ({
  ...url,
  guess: (value) =>
    Object.values(kinds).flatMap(({ urlIn }) => urlIn?.(String(value)) ?? [])[0] ?? url.guess?.(value),
})

type Values = Readonly<Record<string, unknown>>

/**
 * With `type: auto` a database may turn out to be of any kind: every key of every kind can be written. Only the kind knows
 * the types of their values: for the rest of the program there are none.
 */
export const kindKeys = (kinds: Kinds): Readonly<Record<never, Key>> =>
  Object.values(kinds).reduce<Keys>((keys, { section }) => merged(keys, section.keys), {})

/** A section that several kinds have has the keys, the checks and the refusals of each. */
function merged(keys: Keys, more: Keys): Keys {
  const added = Object.entries(more).map(([name, key]): [string, Key] => {
    const known = keys[name]
    if (known?.type.kind !== 'section' || key.type.kind !== 'section') return [name, key]
    const [one, other] = [known.type, key.type]
    const checks = [...new Set([...one.checks, ...other.checks])]
    const refused = { ...other.refused, ...one.refused }
    const type = { ...other, ...one, keys: merged(one.keys, other.keys), checks, refused }
    return [name, { ...known, type }]
  })
  return { ...keys, ...Object.fromEntries(added) }
}

/** A key of another kind is refused unless it has its default value: `check --print` writes out every default. */
export function keysAreOfItsKind(kinds: Kinds): Check {
  const own: readonly [string, Key][] = Object.entries(kindKeys(kinds))
  return {
    needs: ['type', ...own.map(([name]) => name)],
    run(values: Values & { readonly type: string }, report) {
      const kind = kinds[values.type]
      if (kind === undefined) return
      const changed = own.flatMap(([name, key]) => changedIn(name, key, values))
      for (const path of changed.filter((each) => !hasKey(kind.section, each))) {
        const owners = Object.values(kinds).filter(({ section }) => hasKey(section, path))
        report(path, onlyWith(owners, kind))
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

function hasKey({ keys }: Section, path: string): boolean {
  const [name, ...below] = path.split('.') as [string, ...string[]]
  const type = Object.hasOwn(keys, name) ? keys[name]!.type : undefined
  return below.length === 0 ? type !== undefined : type?.kind === 'section' && hasKey(type, below.join('.'))
}

/** The paths below a key at which something else than the default is set. */
function changedIn(name: string, key: Key, values: Values): string[] {
  const value = values[propertyOf(name, key)]
  if (key.type.kind !== 'section') return isDeepStrictEqual(value, key.fallback) ? [] : [name]
  return Object.entries(key.type.keys).flatMap(([below, each]) =>
    changedIn(below, each, value as Values).map((path) => `${name}.${path}`),
  )
}
