/** Environment and flags, which override the file. */

import { distance, nearest } from '../core/suggest.ts'
import type { Section } from './definition.ts'
import {
  environmentName,
  environmentPrefix,
  environmentTargets,
  flagName,
  flagTarget,
  rowsOf,
  type Target,
} from './names.ts'
import { bool } from './scalars.ts'
import { emptyMap, isNothing, type Problem, type Raw, type RawMap, rawText, type Source } from './source.ts'
import { parseYaml } from './yaml.ts'

export interface Override {
  readonly path: readonly string[]
  readonly raw: Raw
}

export interface Flag {
  /** The key that is meant, without dashes. */
  readonly name: string
  /** The typed name, where that is a shorter one for the key. */
  readonly typed?: string
  /** Undefined where nothing followed. */
  readonly value: string | undefined
}

interface Overrides {
  readonly overrides: readonly Override[]
  readonly problems: readonly Problem[]
}

const overridesOf = (given: readonly (Override | Problem)[]): Overrides => ({
  // A whole map is laid before its parts, whatever their names sort like.
  overrides: given.filter((one) => 'raw' in one).sort((a, b) => a.path.length - b.path.length),
  problems: given.filter((one) => 'message' in one),
})

type Names = (section: string) => readonly string[]

/** Kubernetes describes services of the same name in variables of its own. */
const serviceLink = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?)?)$/

/**
 * Variables that begin like a key are ours, and must be a key; so must variables that nearly are. Others are ignored.
 */
export function environmentOverrides(
  definition: Section,
  env: Readonly<Record<string, string | undefined>>,
  names: Names,
): Overrides {
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))
  return overridesOf(
    variables.flatMap(([name, text]) => {
      if (text === undefined || !name.startsWith(environmentPrefix) || serviceLink.test(name)) return []
      const source: Source = { kind: 'env', name }
      const targets = environmentTargets(definition, name.slice(environmentPrefix.length).split('_'))
      const target = targets.find(({ path }) => names(path[0]!).includes(path[1]!)) ?? targets[0]
      return target === undefined
        ? unknownVariable(definition, names, name)
        : givenValue(target, text, source)
    }),
  )
}

function unknownVariable(definition: Section, names: Names, name: string): Problem[] {
  const known = knownPaths(definition, names).map(environmentName)
  const suggestion = nearest(
    name.slice(environmentPrefix.length),
    known.map((one) => one.slice(environmentPrefix.length)),
  )
  const isOurs = Object.keys(definition.keys).some((key) => `${name}_`.startsWith(`${environmentName(key)}_`))
  const isNear = suggestion !== undefined && distance(name, environmentPrefix + suggestion) <= 2
  if (!isOurs && !isNear) return []
  const meant = suggestion === undefined ? {} : { suggestion: environmentPrefix + suggestion }
  const message = 'no key of the configuration has this variable'
  return [{ path: '', source: { kind: 'env', name }, message, ...meant }]
}

export function flagOverrides(definition: Section, flags: readonly Flag[], names: Names): Overrides {
  return overridesOf(
    flags.map(({ name, typed = name, value }) => {
      const shown = `--${typed.slice(0, 80)}`
      const target = flagTarget(definition, name.split('.'))
      if (target === undefined) {
        const suggestion = nearest(`--${name}`, knownPaths(definition, names).map(flagName))
        const message = 'no key of the configuration has this flag'
        const source: Source = { kind: 'flag', name: shown }
        return { path: '', source, message, ...(suggestion !== undefined && { suggestion }) }
      }
      const path = target.path.join('.')
      const source: Source = { kind: 'flag', name: shown, key: path }
      const text = value ?? (target.type === bool ? 'true' : undefined)
      if (text === undefined) return { path, source, message: 'needs a value' }
      return givenValue(target, text, source)
    }),
  )
}

function knownPaths(definition: Section, names: Names): string[] {
  return rowsOf(definition).flatMap(({ path }) => {
    const existing = names(path.split('.')[0]!)
    const indexed = path.replaceAll('<n>', '0')
    return path.includes('<name>') ? existing.map((name) => indexed.replace('<name>', name)) : [indexed]
  })
}

/** A list or a map is written as YAML: `[a, b]`, `{ key: value }`. */
function givenValue({ path, type }: Target, text: string, source: Source): Override | Problem {
  const isPlain = type.kind === 'scalar' || (type.kind === 'list' && !/^\s*[[-]/.test(text))
  if (isPlain) return { path, raw: rawText(text, source) }
  const { raw, problems } = parseYaml(text, () => source)
  const [problem] = problems
  if (problem !== undefined) return { ...problem, path: path.join('.') }
  return { path, raw: raw ?? { kind: 'scalar', value: null, isText: false, source } }
}

/** Later overrides win. */
export function overlay(
  root: Raw | undefined,
  overrides: readonly Override[],
): { raw: Raw | undefined; problems: readonly Problem[] } {
  const problems: Problem[] = []
  let raw = root
  for (const { path, raw: value } of overrides) {
    const laid = put(raw, path, value)
    if (typeof laid !== 'string') raw = laid
    else problems.push({ path: path.join('.'), source: value.source, message: laid })
  }
  return { raw, problems }
}

/** The tree with the value in it, or a sentence on why it cannot be put there. */
function put(raw: Raw | undefined, path: readonly string[], value: Raw): Raw | string {
  const [first, ...rest] = path
  if (first === undefined) return value
  if (raw === undefined || isNothing(raw)) {
    return /^\d+$/.test(first) ? putItem([], path, value) : putEntry(emptyMap, path, value)
  }
  if (raw.kind === 'map') return putEntry(raw, path, value)
  if (!/^\d+$/.test(first)) return raw
  const laid = putItem(raw.kind === 'list' ? raw.items : [raw], [first, ...rest], value)
  return typeof laid === 'string' ? laid : { ...laid, source: raw.source }
}

function putEntry(map: RawMap, [first, ...rest]: readonly string[], value: Raw): RawMap | string {
  const before = map.entries.get(first!)
  const laid = put(before?.value, rest, value)
  if (typeof laid === 'string') return laid
  const entry = { keySource: before?.keySource ?? value.source, value: laid }
  return { ...map, entries: new Map([...map.entries, [first!, entry]]) }
}

function putItem(items: readonly Raw[], [first, ...rest]: readonly string[], value: Raw): Raw | string {
  const index = Number(first)
  if (index > items.length) return `there is no entry ${index}: the next one is ${items.length}`
  const laid = put(items[index], rest, value)
  return typeof laid === 'string'
    ? laid
    : {
        kind: 'list',
        items: [...items.slice(0, index), laid, ...items.slice(index + 1)],
        source: value.source,
      }
}
