/** A configuration as it may be shown: as lines of a file with the source of each value, as rows, as plain data. */
import { parse } from 'yaml'
import { stars } from '../core/secrets.ts'
import { type Key, type Plain, propertyOf, type Type } from './definition.ts'
import type { LoadedConfig } from './load.ts'
import { type Config, definition } from './schema.ts'
import { byDefault, describeSource, type Source } from './source.ts'
import { join } from './words.ts'

export interface Leaf {
  readonly path: string
  /** Null where it is not set; stars where it is a secret. */
  readonly value: Plain | null
  readonly source: string
}

/** Every value that is in force. */
export const leavesOf = ({ config, sources }: LoadedConfig): Leaf[] =>
  scalarsIn(config).map(({ type, value, path }) => ({
    ...{ path, value: shown(type, value), source: sourceOf(sources, path) },
  }))

interface ConfigNode {
  readonly type: Type
  readonly value: unknown
  readonly path: string
}

/** Every key that holds a value itself, with its type. */
export function scalarsIn(config: Config): ConfigNode[] {
  const below = ({ type, value, path }: ConfigNode): ConfigNode[] =>
    type.kind === 'scalar'
      ? [{ type, value, path }]
      : partsOf({ type, value }).flatMap((part) => below({ ...part, path: join(path, part.name) }))
  return below({ type: definition, value: config, path: '' })
}

const sourceOf = (sources: ReadonlyMap<string, Source>, path: string): string =>
  describeSource(sources.get(path) ?? byDefault)

interface Part {
  readonly name: string
  readonly type: Type
  readonly value: unknown
  readonly key?: Key
}

/** The parts of a value, in the order of the definition. */
export function partsOf({ type, value }: { readonly type: Type; readonly value: unknown }): Part[] {
  const properties = value as Readonly<Record<string, unknown>>
  switch (type.kind) {
    case 'section':
      return Object.entries(type.keys).map(([name, key]) => {
        return { name, key, type: key.type, value: properties[propertyOf(name, key)] }
      })
    case 'variants': {
      const tag = properties['type'] as string
      return [
        { name: 'type', type: type.tag.type, value: tag },
        ...partsOf({ type: type.cases[tag]!, value }),
      ]
    }
    case 'named':
      return Object.entries(properties).map(([name, entry]) => ({ name, type: type.entry, value: entry }))
    case 'list':
      return (value as readonly unknown[]).map((item, i) => ({
        name: String(i),
        type: type.item,
        value: item,
      }))
    case 'scalar':
      return []
  }
}

export const shown = (type: Type, value: unknown): Plain | null =>
  value === undefined || type.kind !== 'scalar' ? null : type.show(value)

/** The effective configuration as a file that can be loaded again, each value with its source behind it. */
export function printConfig({ config, sources }: LoadedConfig): string {
  const linesOf = (node: ConfigNode, indent: string): string[] =>
    partsOf(node).flatMap((part) => {
      const head = node.type.kind === 'list' ? '-' : `${part.name}:`
      const path = join(node.path, part.name)
      const from = `# ${sourceOf(sources, path)}`
      if (part.type.kind === 'scalar') return indent + scalarLine(part, head, from)
      const below = linesOf({ ...part, path }, `${indent}  `)
      if (below.length === 0) return `${indent}${head} ${part.type.kind === 'list' ? '[]' : '{}'}  ${from}`
      return [indent + head, ...below]
    })
  return `${linesOf({ type: definition, value: config, path: '' }, '').join('\n')}\n`
}

function scalarLine({ type, value, key }: Part, head: string, from: string): string {
  const text = shown(type, value)
  if (text === null) return `# ${head} not set`
  return key?.isSecret === true ? `# ${head} ${stars}  ${from}` : `${head} ${scalarText(text)}  ${from}`
}

/** Quoted where YAML would read something else. */
function scalarText(value: Plain): string {
  if (typeof value !== 'string') return String(value)
  const isPlain =
    /^[\w./:-]+$/.test(value) && !value.endsWith(':') && parse(value, { schema: 'core' }) === value
  return isPlain ? value : JSON.stringify(value)
}
