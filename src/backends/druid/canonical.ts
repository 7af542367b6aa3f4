/** One text for every way to write the same JSON value: members sorted, no spaces, numbers as they were written. */
import type { JsonNode, JsonObject } from './json.ts'

export function canonicalText(node: JsonNode): string {
  switch (node.kind) {
    case 'object':
      return canonicalObject(canonicalMembers(node))
    case 'array':
      return `[${node.items.map(canonicalText).join(',')}]`
    case 'number':
      // 1, 1.0 and 1e0 may print differently in an answer, and long numbers are more exact than a double.
      return node.text
    case 'text':
      return quoted(node.value)
    default:
      return String(node.value)
  }
}

/** The canonical text of each member, by name, for callers that omit or replace some. */
export const canonicalMembers = ({ members }: JsonObject): Map<string, string> =>
  new Map(members.entries().map(([name, member]) => [name, canonicalText(member)]))

export function canonicalObject(members: ReadonlyMap<string, string>): string {
  const names = [...members.keys()].sort()
  return `{${names.map((name) => `${quoted(name)}:${members.get(name)}`).join(',')}}`
}

/** The result of JSON.stringify, which is slow for the many short texts that need no escape. */
const quoted = (text: string): string => (mayNeedEscapes.test(text) ? JSON.stringify(text) : `"${text}"`)

const mayNeedEscapes = /[^ !#-[\]-~]/
