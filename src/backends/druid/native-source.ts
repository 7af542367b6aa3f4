/** The data sources of a native query, and whether it reads nothing else than rows of plain tables. */
import type { JsonNode } from './json.ts'
import { isAbsent, textOf } from './lenient.ts'
import { type Bypass, invalid, notDecomposable } from './reasons.ts'

/** The names of the tables behind a `dataSource`. */
export function readDataSource(node: JsonNode): readonly string[] | Bypass {
  if (node.kind === 'text') return [node.value]
  if (node.kind !== 'object') return invalid('dataSource: neither name nor object')
  const type = node.members.get('type')
  switch (isAbsent(type) ? 'table' : textOf(type)) {
    case 'table':
      return readTable(node.members.get('name'))
    case 'union':
      return readUnion(node.members.get('dataSources'))
    case 'filter':
      return readBase(node.members.get('base'))
    default:
      // The rows of others come from elsewhere, or from other times: query, join, unnest, lookup, inline, restrict …
      return notDecomposable('a data source that is not a table, a union of tables, or one of them filtered')
  }
}

function readTable(name: JsonNode | undefined): readonly string[] | Bypass {
  if (name?.kind === 'text') return [name.value]
  return invalid('dataSource: a table without a name')
}

function readUnion(list: JsonNode | undefined): readonly string[] | Bypass {
  const members = list?.kind === 'array' ? list.items.map(tableName) : []
  const names = members.filter((name) => name !== undefined)
  if (names.length > 0 && names.length === members.length) return [...new Set(names)]
  return notDecomposable('a union of something else than tables')
}

function readBase(base: JsonNode | undefined): readonly string[] | Bypass {
  const name = base === undefined ? undefined : tableName(base)
  return name === undefined ? notDecomposable('a filter over something else than a table') : [name]
}

/** The canonical text of a data source that is one table, however it was written. */
export function tableText(node: JsonNode): string | undefined {
  const name = tableName(node)
  return name === undefined ? undefined : JSON.stringify(name)
}

function tableName(node: JsonNode): string | undefined {
  if (node.kind !== 'object') return textOf(node)
  const isTable = textOf(node.members.get('type')) === 'table' && node.members.size === 2
  return isTable ? textOf(node.members.get('name')) : undefined
}

/** Lookups change without any change of the data; a script may do anything. */
const refusedTypes: ReadonlyMap<string, string> = new Map([
  ['lookup', 'a lookup'],
  ['registeredLookup', 'a lookup'],
  ['javascript', 'JavaScript'],
])

/** In an expression; function names may be quoted, and then written in escapes. */
const lookupCall = /(?:lookup|")\s*\(/i

/** The parts of a query, however deep, that make its rows depend on more than the data. */
export function refuseOutsideData(node: JsonNode): Bypass | undefined {
  const refused = outsideData(node)
  return refused === undefined ? undefined : notDecomposable(refused)
}

function outsideData(node: JsonNode): string | undefined {
  if (node.kind === 'text')
    return lookupCall.test(node.value) ? 'an expression that calls a lookup' : undefined
  if (node.kind === 'array') return firstOf(node.items.values())
  if (node.kind !== 'object') return undefined
  return refusedTypes.get(textOf(node.members.get('type')) ?? '') ?? firstOf(node.members.values())
}

const firstOf = (nodes: IteratorObject<JsonNode>): string | undefined =>
  nodes.map(outsideData).find((refused) => refused !== undefined)
