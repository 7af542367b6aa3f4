/** JSON that others wrote: bodies of requests and of answers, lines of files, values of cells. */
import { bufferOf } from './bytes.ts'

export type Fields = Readonly<Record<string, unknown>>

export const hasFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

export const isObject = (value: unknown): value is Fields => hasFields(value) && !Array.isArray(value)

/** Undefined where it is not JSON. */
export function jsonIn(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : bufferOf(text).toString())
  } catch {
    return undefined
  }
}

/** The fields of the object that a text is JSON of; none where it is anything else. */
export function fieldsIn(text: string | Uint8Array): Fields {
  const given = jsonIn(text)
  return hasFields(given) ? given : {}
}

type JsonObject =
  | { readonly kind: 'object'; readonly fields: Fields }
  | { readonly kind: 'not_json' }
  /** JSON, but an array or a scalar. */
  | { readonly kind: 'not_object' }
  | { readonly kind: 'unknown_field'; readonly name: string }

/** Returns the fields, or the first reason why the text is not an object that has only `known` fields. */
export function readJsonObject(text: string, known: readonly string[]): JsonObject {
  const given = jsonIn(text)
  if (given === undefined) return { kind: 'not_json' }
  if (!isObject(given)) return { kind: 'not_object' }
  const name = Object.keys(given).find((each) => !known.includes(each))
  return name === undefined ? { kind: 'object', fields: given } : { kind: 'unknown_field', name }
}
