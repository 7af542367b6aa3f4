/** Questions as people recognise them: type, data source, dimensions, numbers and filter instead of all their JSON. */
import { bufferOf } from '../../core/bytes.ts'
import { type Fields, isObject, jsonIn } from '../../core/json-object.ts'
import type { WireRequest } from '../backend.ts'
import { filterText, textOf } from './filter-text.ts'
import { nativePath, sqlPath } from './paths.ts'

/** Shapes are JSON of path and question, which is an object or the text of SQL; those of odd requests are wrapped. */
export function shapeText(shape: string): string | undefined {
  const isCut = shape.endsWith('…')
  const parts = completed(isCut ? shape.slice(0, -1) : shape)
  if (!Array.isArray(parts)) return undefined
  const [path, question] = parts as unknown[]
  const end = isCut ? ' …' : ''
  if (path === nativePath) return isObject(question) ? `${nativeText(question)}${end}` : undefined
  if (path === sqlPath) return `${typeof question === 'string' ? question : cutSql(shape)}${end}`
  const inner = typeof path === 'string' && path.startsWith('["/') ? shapeText(path) : undefined
  return inner === undefined ? undefined : `${inner} ?${textOf(question ?? '')}${end}`
}

/** A text that is not whole is no JSON. */
const cutSql = (shape: string): string => shape.slice(`["${sqlPath}","`.length, -1).replaceAll('\\"', '"')

/** A body of megabytes is not read for a line in a list. */
const maxReadBytes = 8192

/**
 * The same for a request that was not planned. Parts that move with the time are left out, so that equal ones look
 * equal.
 */
export function requestText({ path, body }: Pick<WireRequest, 'path' | 'body'>): string {
  const question = completed(bufferOf(body).toString('utf8', 0, maxReadBytes))
  if (!isObject(question)) return path
  if (typeof question['query'] === 'string') return `${path} ${withoutTimes(question['query'])}`
  return typeof question['queryType'] === 'string' ? `${path} ${nativeText(question)}` : path
}

const withoutTimes = (sql: string): string =>
  sql.replaceAll(/\d{4}-\d\d(?:-\d\d)?(?:[T ]\d\d(?::\d\d)*(?:\.\d+)?Z?)?|\b\d{10,16}\b/g, ':time')

/** `groupBy wiki [page, country]: edits, added where channel = en`. */
function nativeText(question: Fields): string {
  const dimensions = namesIn([question['dimension'] ?? [], question['dimensions'] ?? []].flat())
  const numbers = namesIn([question['aggregations'] ?? [], question['postAggregations'] ?? []].flat())
  const { filter } = question
  return [
    // Members are sorted: in a long query that was cut the type may be missing.
    textOf(question['queryType'] ?? 'query'),
    ` ${sourceText(question['dataSource'])}`,
    dimensions.length === 0 ? '' : ` [${dimensions.join(', ')}]`,
    numbers.length === 0 ? '' : `: ${numbers.join(', ')}`,
    isObject(filter) && 'type' in filter ? ` where ${filterText(filter)}` : '',
    ...otherMembers.map((name) => (isAbsent(question[name]) ? '' : ` ${name} ${textOf(question[name])}`)),
  ].join('')
}

const otherMembers = ['having', 'limitSpec', 'metric', 'threshold', 'limit', 'descending', 'context']

function sourceText(source: unknown): string {
  if (!isObject(source)) return textOf(source ?? '?')
  const { type, name, base, dataSources } = source
  if (name !== undefined) return textOf(name)
  if (Array.isArray(dataSources)) return dataSources.map(sourceText).join(' + ')
  return isObject(base) ? `${textOf(type)} of ${sourceText(base)}` : textOf(type ?? '?')
}

/** The names of columns in the answer. */
const namesIn = (columns: readonly unknown[]): string[] =>
  columns.flatMap((column) => {
    if (!isObject(column)) return typeof column === 'string' ? [column] : []
    const inner = isObject(column['aggregator']) ? column['aggregator']['name'] : undefined
    const name = column['outputName'] ?? column['name'] ?? column['dimension'] ?? inner ?? column['type']
    return name === undefined ? [] : [textOf(name)]
  })

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** The value of a text that may have been cut, or as much of it as there is; undefined where it is not JSON. */
function completed(text: string): unknown {
  return jsonIn(text) ?? jsonIn(closed(text))
}

/** Up to the end of the last complete member or item, with open brackets closed. */
function closed(text: string): string {
  const open: string[] = []
  let end = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/gs)) {
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']')
    else if (token === '}' || token === ']') open.pop()
    else if (token !== ',') continue
    end = token === ',' ? index : index + 1
  }
  return `${text.slice(0, end)}${open.toReversed().join('')}`
}
