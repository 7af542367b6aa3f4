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
    default:
      return JSON.stringify(node.value)
  }
}

/** The canonical text of each member, by name, for whoever leaves some out or puts others in their place. */
export function canonicalMembers(node: JsonObject): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, member] of node.members) texts.set(name, canonicalText(member))
  return texts
}

export function canonicalObject(members: ReadonlyMap<string, string>): string {
  const names = [...members.keys()].sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name)}`).join(',')}}`
}
