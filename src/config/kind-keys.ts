/** The keys of `backends.<name>` that only some kinds of databases have: taken from the kinds, refused with the others. */
import { isDeepStrictEqual } from 'node:util'
import type { DatabaseKind, ExceptionKey } from '../backends/kind.ts'
import { type Check, type Key, type Keys, nested, propertyOf, section } from './definition.ts'
import { endpointKeys } from './objects-section.ts'
import type { BackendConfig } from './schema.ts'
import { url } from './text-scalars.ts'

type Kind = Pick<DatabaseKind, 'label' | 'section' | 'endpoints'>
type Kinds = Readonly<Record<string, Kind>>

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
  Object.values(kinds)
    .map(({ section }) => section.keys)
    .reduce(merged, {})

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

/** All that a kind owns: also its endpoints, which are written in a section that every kind has. */
function ownKeys(kind: Kind): Keys {
  const endpoints = nested(section(endpointKeys(kind)), 'its endpoints')
  return { ...kind.section.keys, objects: nested(section({ endpoints }), 'its answers as a whole') }
}

/** A key of another kind is refused unless it has its default value: `check --print` writes out every default. */
export function keysAreOfItsKind(kinds: Kinds): Check {
  const own = Object.entries(Object.values(kinds).map(ownKeys).reduce(merged, {}))
  return {
    needs: ['type', ...own.map(([name]) => name)],
    run(values: Values & { readonly type: string }, report) {
      const kind = kinds[values.type]
      if (kind === undefined) return
      const changed = own.flatMap(([name, key]) => changedIn(name, key, values))
      for (const path of changed.filter((each) => !hasKey(ownKeys(kind), each))) {
        const owners = Object.values(kinds).filter((each) => hasKey(ownKeys(each), path))
        report(path, onlyWith(owners, kind))
      }
    },
  }
}

type Excepting = Readonly<Record<string, Pick<DatabaseKind, 'label' | 'exceptions'>>>

type Exceptions = Pick<BackendConfig, 'align' | 'edges' | 'instant'>

const isOff: Readonly<Record<ExceptionKey, (values: Exceptions) => boolean>> = {
  align: ({ align }) => !align,
  edges: ({ edges }) => edges === 'exact',
  'instant.within': ({ instant }) => instant.withinMs === 0,
}

const ableTo = (kinds: Excepting, name: ExceptionKey): readonly Labelled[] =>
  Object.values(kinds).filter(({ exceptions }) => exceptions?.includes(name))

/** The databases that support an exception, as a part of a sentence. */
export const supporters = (kinds: Excepting, name: ExceptionKey): string => labelsOf(ableTo(kinds, name))

/** Refuses an exception that the kind of database does not support. */
export const exceptionsAreOfItsKind = (kinds: Excepting): Check => ({
  needs: ['type', 'align', 'edges', 'instant'],
  run(values: Exceptions & { readonly type: string }, report) {
    const kind = kinds[values.type]
    if (kind === undefined) return
    for (const name of Object.keys(isOff) as ExceptionKey[]) {
      if (isOff[name](values) || kind.exceptions?.includes(name)) continue
      report(name, onlyWith(ableTo(kinds, name), kind))
    }
  },
})

type Labelled = Pick<DatabaseKind, 'label'>

const labelsOf = (kinds: readonly Labelled[]): string =>
  new Intl.ListFormat('en-GB').format(kinds.map(({ label }) => label))

const onlyWith = (able: readonly Labelled[], kind: Labelled): string =>
  `has an effect only with ${labelsOf(able)}, and this is ${kind.label}`

function hasKey(keys: Keys, path: string): boolean {
  const [name, ...below] = path.split('.') as [string, ...string[]]
  const type = Object.hasOwn(keys, name) ? keys[name]!.type : undefined
  return below.length === 0
    ? type !== undefined
    : type?.kind === 'section' && hasKey(type.keys, below.join('.'))
}

/** The paths below a key at which something else than the default is set. */
function changedIn(name: string, key: Key, values: Values): string[] {
  const value = values[propertyOf(name, key)]
  if (key.type.kind !== 'section') return isDeepStrictEqual(value, key.fallback) ? [] : [name]
  return Object.entries(key.type.keys).flatMap(([below, each]) =>
    changedIn(below, each, value as Values).map((path) => `${name}.${path}`),
  )
}
