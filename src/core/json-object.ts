/** JSON texts of which each must be one object with known fields: bodies of requests, lines of files. */

export type Fields = Readonly<Record<string, unknown>>

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
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { kind: 'not_object' }
  const name = Object.keys(given).find((each) => !known.includes(each))
  return name === undefined ? { kind: 'object', fields: given as Fields } : { kind: 'unknown_field', name }
}
