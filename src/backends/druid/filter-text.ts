/** Filters as people would write them; filters without a short form by their type and column. */
import { type Fields, hasFields } from '../../core/json-object.ts'

const deepest = 8

export function filterText(filter: Fields, depth = 0): string {
  const { type, dimension, column = dimension, value, matchValue, values, fields, field } = filter
  if (depth > deepest) return '…'
  const below = (each: unknown): string => (hasFields(each) ? filterText(each, depth + 1) : textOf(each))
  switch (type) {
    case 'selector':
    case 'equals':
      return `${textOf(column)} = ${textOf(matchValue ?? value)}`
    case 'in':
    case 'inType':
      return `${textOf(column)} in (${(Array.isArray(values) ? values : []).map(textOf).join(', ')})`
    case 'null':
      return `${textOf(column)} is null`
    case 'and':
    case 'or': {
      const parts = (Array.isArray(fields) ? fields : []).map(below).join(` ${type} `)
      return depth === 0 ? parts : `(${parts})`
    }
    case 'not':
      return `not ${below(field)}`
    case 'bound':
    case 'range':
      return boundText(filter, textOf(column))
    case 'expression':
      return textOf(filter['expression'])
    default:
      return `${textOf(type)}(${textOf(column ?? '…')})`
  }
}

function boundText({ lower, upper, lowerStrict, upperStrict, ...range }: Fields, column: string): string {
  const [low, high] = [lower ?? range['lowerBound'], upper ?? range['upperBound']]
  const isOpen = (strict: unknown): string => (strict === true ? '<' : '<=')
  const left = low === undefined ? '' : `${textOf(low)} ${isOpen(lowerStrict ?? range['lowerOpen'])} `
  const right = high === undefined ? '' : ` ${isOpen(upperStrict ?? range['upperOpen'])} ${textOf(high)}`
  return `${left}${column}${right}`
}

/** Whatever JSON can hold, without a call of anything in it. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '?')
