/** Values as Druid reads them: booleans and numbers may also be written as strings. */
import type { JsonNode } from './json.ts'

export const isAbsent = (node: JsonNode | undefined): node is undefined =>
  node === undefined || (node.kind === 'word' && node.value === null)

/** A flag in the context: any string but `true` is false. Undefined where Druid refuses it. */
export function contextFlag(node: JsonNode | undefined): boolean | undefined {
  if (isAbsent(node)) return false
  if (node.kind === 'text') return node.value.toLowerCase() === 'true'
  return node.kind === 'word' ? node.value === true : undefined
}

/** A flag of the query itself. Undefined where Druid refuses it, or where we would have to guess. */
export function queryFlag(node: JsonNode | undefined): boolean | undefined {
  if (isAbsent(node)) return false
  if (node.kind === 'word') return node.value === true
  if (node.kind !== 'text') return undefined
  if (node.value === 'true') return true
  return node.value === 'false' ? false : undefined
}

/** A whole number, not negative and not beyond 2^53. Undefined for anything else. */
export function wholeNumber(node: JsonNode): number | undefined {
  const text = node.kind === 'number' ? node.text : node.kind === 'text' ? node.value : ''
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

export const textOf = (node: JsonNode | undefined): string | undefined =>
  node?.kind === 'text' ? node.value : undefined
