/** The body of a SQL request: JSON with the query and how it is to be answered in it, or the query alone. */
import { percentDecoded } from '../../core/url.ts'
import type { WireRequest } from '../backend.ts'
import { canonicalText } from './canonical.ts'
import type { RowFormat } from './druid-plan.ts'
import { type JsonNode, type JsonObject, readJsonObject } from './json.ts'
import { isAbsent, queryFlag, textOf } from './lenient.ts'
import { type Bypass, invalid, malformed } from './reasons.ts'
import type { Parameter } from './sql-reading.ts'
import { refuseWire } from './wire.ts'

export interface SqlBody {
  readonly query: string
  /** All but which column holds the time. */
  readonly format: Omit<RowFormat, 'time'>
  readonly context: JsonObject | undefined
  readonly parameters: readonly GivenParameter[]
  /** Whatever else belongs to the question: how the answer is written, and members that we do not know. */
  readonly others: readonly (readonly [name: string, text: string])[]
  /** The same body with another text: `head`, the replaced part, `tail`; without some of the parameters. */
  splice(head: string, tail: string, withoutParameters: ReadonlySet<number>): Frame
}

interface GivenParameter {
  /** Undefined where it is of no use as a time. */
  readonly parameter: Parameter | undefined
  readonly text: string
}

/** The text before and behind the part of a query that is replaced. That part needs no escapes. */
export interface Frame {
  readonly head: string
  readonly tail: string
}

export type BodyKind = 'json' | 'text' | 'form'

const textType = /^text\/plain[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i
const formType = /^application\/x-www-form-urlencoded$/i

/** How to read the body, or why not to. Versions before 35 refuse everything but JSON themselves. */
export function bodyKindOf(request: WireRequest): BodyKind | Bypass {
  const { headers } = request
  const types = headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === 'content-type')
  // Unlike native queries: without a type Druid refuses it.
  if (types.length === 0) return malformed('no content type')
  const isPlain = types.length === 1 && (textType.test(types[0]!) || formType.test(types[0]!))
  if (!isPlain) return refuseWire(request) ?? 'json'
  const others = headers.filter((_, i) => headers[i - (i % 2)] !== 'content-type')
  return refuseWire({ ...request, headers: others }) ?? (textType.test(types[0]!) ? 'text' : 'form')
}

export const readBody = (kind: BodyKind, text: string): SqlBody | Bypass => readers[kind](text)

const readers = { json: readJsonBody, text: readTextBody, form: readFormBody }

const objects: SqlBody['format'] = { container: 'list', row: 'object', headerRows: 0, end: '\n' }
const bare = {
  format: objects,
  context: undefined,
  parameters: [],
  others: [['resultFormat', 'object']],
} as const

/** Beyond ASCII it depends on the server which encoding it takes the text for. */
function readTextBody(text: string): SqlBody | Bypass {
  if (/[^\t\n\r -~]/.test(text)) return malformed('a plain text beyond ASCII')
  return { ...bare, query: text, splice: (head, tail) => ({ head, tail }) }
}

/** The whole body is one value without a name. */
function readFormBody(text: string): SqlBody | Bypass {
  if (/[^!-~]|[=&;]/.test(text)) return malformed('a form that is not one value')
  const query = percentDecoded(text.replaceAll('+', ' '))
  if (query === undefined) return malformed('a form with bad escapes')
  return {
    ...bare,
    query,
    splice: (head, tail) => ({ head: encodeURIComponent(head), tail: encodeURIComponent(tail) }),
  }
}

const headerFlags = ['header', 'typesHeader', 'sqlTypesHeader'] as const
/** Members that are spoken of elsewhere in a plan. */
const readMembers = new Set(['query', 'context', 'parameters', 'resultFormat', ...headerFlags])

function readJsonBody(text: string): SqlBody | Bypass {
  const node = readJsonObject(text)
  if ('bypass' in node) return node
  const query = node.members.get('query')
  if (query?.kind !== 'text') return { bypass: 'missing_parameter', detail: 'no query' }
  const context = node.members.get('context')
  if (!isAbsent(context) && context.kind !== 'object') return invalid('context is not an object')
  const list = node.members.get('parameters')
  if (!isAbsent(list) && list.kind !== 'array') return invalid('parameters is not a list')
  const format = readFormat(node)
  if ('bypass' in format) return format
  const unknown = [...node.members].filter(([name]) => !readMembers.has(name))
  return {
    query: query.value,
    format: format.rows,
    context: isAbsent(context) ? undefined : context,
    parameters: isAbsent(list)
      ? []
      : list.items.map((item) => ({ parameter: readParameter(item), text: canonicalText(item) })),
    others: [
      ...format.question,
      ...unknown.map(([name, value]) => [name, canonicalText(value)] as const).sort(),
    ],
    splice: (head, tail, without) => spliceJson(text, { query, list, without, head, tail }),
  }
}

function readParameter(node: JsonNode): Parameter | undefined {
  if (node.kind !== 'object') return undefined
  const [type, value] = [textOf(node.members.get('type')), node.members.get('value')]
  if (type === undefined || value === undefined) return undefined
  if (value.kind === 'text') return { type, value: value.value, isText: true }
  return value.kind === 'number' ? { type, value: value.text, isText: false } : undefined
}

const formats: ReadonlyMap<string, Pick<RowFormat, 'container' | 'row'>> = new Map([
  ['object', { container: 'list', row: 'object' }],
  ['array', { container: 'list', row: 'array' }],
  ['objectlines', { container: 'lines', row: 'object' }],
  ['arraylines', { container: 'lines', row: 'array' }],
  ['csv', { container: 'lines', row: 'csv' }],
])

interface Format {
  readonly rows: SqlBody['format']
  readonly question: SqlBody['others']
}

function readFormat({ members }: JsonObject): Format | Bypass {
  const asked = members.get('resultFormat')
  const name = isAbsent(asked) ? 'object' : (textOf(asked) ?? '').toLowerCase()
  const format = formats.get(name)
  if (format === undefined) return invalid('a resultFormat that we do not know')
  const [header, types, sqlTypes] = headerFlags.map((flag) => queryFlag(members.get(flag)))
  if (header === undefined || types === undefined || sqlTypes === undefined)
    return invalid('a header that is no flag')
  if (!header && (types || sqlTypes)) return invalid('a header of types without a header')
  // An object has its types beside its names.
  const headerRows =
    format.row === 'object' ? Number(header) : Number(header) + Number(types) + Number(sqlTypes)
  const question = [
    ['resultFormat', name],
    ['headers', headerFlags.filter((_, i) => [header, types, sqlTypes][i]).join(' ')],
  ] as const
  return { rows: { ...format, headerRows, end: '\n' }, question }
}

interface Splice extends Frame {
  readonly query: JsonNode
  readonly list: JsonNode | undefined
  readonly without: ReadonlySet<number>
}

function spliceJson(text: string, { query, list, without, head, tail }: Splice): Frame {
  const between = (from: number, to: number): string => {
    const isInside = list?.kind === 'array' && from <= list.start && list.end <= to
    if (!isInside || without.size === 0) return text.slice(from, to)
    const kept = list.items.filter((_, i) => !without.has(i)).map(({ start, end }) => text.slice(start, end))
    return `${text.slice(from, list.start)}[${kept.join(',')}]${text.slice(list.end, to)}`
  }
  return {
    head: between(0, query.start) + JSON.stringify(head).slice(0, -1),
    tail: JSON.stringify(tail).slice(1) + between(query.end, text.length),
  }
}
