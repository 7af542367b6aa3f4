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
export function canonicalMembers(node: JsonObject): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, member] of node.members) texts.set(name, canonicalText(member))
  return texts
}

export function canonicalObject(members: ReadonlyMap<string, string>): string {
  let text = ''
  for (const name of [...members.keys()].sort()) {
    text += `${text === '' ? '{' : ','}${quoted(name)}:${members.get(name)}`
  }
  return text === '' ? '{}' : `${text}}`
}

/** The result of JSON.stringify, which is slow for the many short texts that need no escape. */
const quoted = (text: string): string => (mayNeedEscapes.test(text) ? JSON.stringify(text) : `"${text}"`)

const mayNeedEscapes = /[^ !#-[\]-~]/
