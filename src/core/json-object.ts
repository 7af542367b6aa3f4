/** JSON texts that are one object: bodies of requests and of answers, lines of files. */

export type Fields = Readonly<Record<string, unknown>>

export const hasFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

/** The fields of the object that a text is JSON of; none where it is anything else. */
export function fieldsIn(text: string): Fields {
  try {
    const given: unknown = JSON.parse(text)
    return hasFields(given) ? given : {}
  } catch {
    return {}
  }
}

type JsonObject =
  | { readonly kind: 'object'; readonly fields: Fields }
  | { readonly kind: 'not_json' }
  /** JSON, but an array or a scalar. */
  | { readonly kind: 'not_object' }
  | { readonly kind: 'unknown_field'; readonly name: string }

/** Returns the fields, or the first reason why the text is not an object that has only `known` fields. */
export function readJsonObject(text: string, known: readonly string[]): JsonObject {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return { kind: 'not_json' }
  }
  if (!hasFields(given) || Array.isArray(given)) return { kind: 'not_object' }
  const name = Object.keys(given).find((each) => !known.includes(each))
  return name === undefined ? { kind: 'object', fields: given } : { kind: 'unknown_field', name }
}
