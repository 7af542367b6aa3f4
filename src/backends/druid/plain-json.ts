/** JSON as JavaScript has it: for answers about the server, and for texts that people read. Queries are read by json.ts. */

export type Members = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Undefined where it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value of a text that may have been cut, or as much of it as there is; undefined where it is not JSON. */
export function completed(text: string): unknown {
  return parsedJson(text) ?? parsedJson(closed(text))
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
