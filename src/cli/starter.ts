/**
 * A commented configuration to start from, made from the definition: it names every key that a file may have, with its
 * meaning and its default. A line that begins with # and a letter is a key that can be switched on by taking the # away.
 */
import { stringify } from 'yaml'
import type { Key, Keys, Plain, Type, Variants } from '../config/definition.ts'
import { rowsOf } from '../config/names.ts'
import { definition } from '../config/schema.ts'
import { wrapped } from './command.ts'

export interface StarterOptions {
  /** The URL of the database. */
  readonly url: string
  /** The name of the file, for the commands in it. */
  readonly file: string
  /** Where editors find the schema, seen from the file; undefined where they cannot. */
  readonly schema: string | undefined
}

const columns = 100

export function starterFile({ url, file, schema }: StarterOptions): string {
  const head = [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    '# The configuration of Windowpane. Only the URL of a database is needed; every other key is shown with its',
    '# default, behind a #. Keys may also be set by the environment and by flags: docs/reference/configuration.md.',
    '#',
    `#   windowpane check --config ${file} --connect   can it be used, and do the databases answer?`,
    `#   windowpane --config ${file}                   start the proxy`,
  ]
  const top = { path: '', indent: '', isOff: false, samples: { ...samples, 'backends.main.url': url } }
  const lines = requiredFirst(definition.keys).flatMap(([name, key]) => ['', ...keyLines(name, key, top)])
  return `${[...head, ...lines].join('\n')}\n`
}

/** Values for keys that have no default. */
const samples: Readonly<Record<string, string>> = { 'stores.disk.path': '/var/lib/windowpane' }

/** The entry that stands for all, and, where entries are of several types, the type it has. */
const entries: Readonly<Record<string, { readonly name: string; readonly type?: string }>> = {
  backends: { name: 'main' },
  policies: { name: 'default' },
  stores: { name: 'disk', type: 'lmdb' },
}

interface KeyPosition {
  readonly path: string
  readonly indent: string
  /** Its keys are shown, not set. */
  readonly isOff: boolean
  /** Values to show, by the paths of keys. */
  readonly samples: Readonly<Record<string, string>>
}

function requiredFirst(keys: Keys): (readonly [string, Key])[] {
  const all = Object.entries(keys)
  const isNeeded = ([, { type }]: (typeof all)[number]): boolean => type.kind === 'named' && type.min > 0
  return [...all.filter(isNeeded), ...all.filter((one) => !isNeeded(one))]
}

function keyLines(name: string, key: Key, position: KeyPosition): string[] {
  if (key.isSecret) return []
  const at = { ...position, path: position.path === '' ? name : `${position.path}.${name}` }
  const prose = wrapped(meaningOf(key, at.path), columns - position.indent.length - 2)
  const comment = prose.map((line) => `${position.indent}# ${line}`)
  const value = defaultText(key, at)
  if (value === undefined) return [...comment, ...branchLines(name, key.type, at)]
  const isSet = key.isRequired && !position.isOff
  return [...comment, `${position.indent}${isSet ? '' : '#'}${name}:${value === '' ? '' : ` ${value}`}`]
}

/** Undefined for sections; '' where there is no default. */
function defaultText(
  { type, fallback, isRequired }: Key,
  { path, samples }: KeyPosition,
): string | undefined {
  if (samples[path] !== undefined) return yaml(samples[path])
  if (type.kind === 'list') return isRequired ? '' : '[]'
  if (type.kind !== 'scalar') return undefined
  return fallback === undefined ? '' : yaml(type.show(fallback))
}

function branchLines(name: string, type: Type, at: KeyPosition): string[] {
  const below = { ...at, indent: `${at.indent}  ` }
  const head = `${at.indent}${at.isOff ? '#' : ''}${name}:`
  if (type.kind !== 'named') return [head, ...linesOf(type, below)]
  const entry = entries[at.path] ?? { name: 'main' }
  const isOff = !type.builtIn.includes(entry.name) && type.min === 0
  const inside = { ...at, path: `${at.path}.${entry.name}`, indent: `${below.indent}  `, isOff }
  return [
    head,
    `${below.indent}${isOff ? '#' : ''}${entry.name}:`,
    ...linesOf(type.entry, inside, entry.type),
  ]
}

function linesOf(type: Type, position: KeyPosition, chosen?: string): string[] {
  if (type.kind === 'section')
    return Object.entries(type.keys).flatMap(([name, key]) => keyLines(name, key, position))
  return type.kind === 'variants' ? variantLines(type, position, chosen ?? type.usual) : []
}

function variantLines({ tag, cases }: Variants, position: KeyPosition, chosen: string): string[] {
  const { indent } = position
  return [
    `${indent}# ${tag.meaning}: ${Object.keys(cases).join(', ')}`,
    `${indent}#type: ${chosen}`,
    ...linesOf(cases[chosen]!, position),
  ]
}

const yaml = (value: Plain): string => stringify(value, { lineWidth: 0 }).trimEnd()

/** A list of sections has no default to show: the keys that an entry may have are named. */
function meaningOf({ meaning, type, inherits }: Key, path: string): string {
  const more = inherits === undefined ? '' : ` (not set: that of ${inherits})`
  if (type.kind !== 'list' || type.item.kind === 'scalar') return `${meaning}${more}`
  const keys = rowsOf(type.item, path).map((row) => row.path.slice(path.length + 1))
  return `${meaning}. An entry may have: ${keys.join(', ')}`
}
