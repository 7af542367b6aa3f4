/**
 * Strict JSON that knows where each value stands and keeps numbers as they were written. What Jackson might read
 * differently from us (a member twice, something behind the end) is refused, never guessed.
 */

export type JsonNode = JsonObject | JsonArray | JsonText | JsonNumber | JsonWord

/** text[start .. end) is the value as it was written. */
interface Placed {
  readonly start: number
  readonly end: number
}

export interface JsonObject extends Placed {
  readonly kind: 'object'
  readonly members: ReadonlyMap<string, JsonNode>
}

export interface JsonArray extends Placed {
  readonly kind: 'array'
  readonly items: readonly JsonNode[]
}

export interface JsonText extends Placed {
  readonly kind: 'text'
  readonly value: string
}

export interface JsonNumber extends Placed {
  readonly kind: 'number'
  readonly text: string
}

export interface JsonWord extends Placed {
  readonly kind: 'word'
  readonly value: boolean | null
}

export interface Malformed {
  readonly malformed: string
}

/** Deeper queries than this are nobody's, and reading goes one call deeper for each level. */
const maxDepth = 200

export function readJson(text: string): JsonNode | Malformed {
  const reader = new JsonReader(text)
  const node = reader.value(0)
  if (node === undefined) return { malformed: reader.problem }
  return reader.isAtEnd() ? node : { malformed: 'something behind the end of the JSON text' }
}

/** The value as JavaScript has it, for whoever does not mind that numbers are doubles. */
export function plainOf(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      // Defines members of its own, also one called __proto__.
      return Object.fromEntries([...node.members].map(([name, member]) => [name, plainOf(member)]))
    case 'array':
      return node.items.map(plainOf)
    case 'number':
      return Number(node.text)
    default:
      return node.value
  }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const words: readonly (readonly [text: string, value: boolean | null])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

const quote = 0x22
const backslash = 0x5c

class JsonReader {
  problem = 'not JSON'
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    this.#skipSpace()
    return this.#at === this.#text.length
  }

  /** Undefined where no value can be read: then `problem` says why. */
  value(depth: number): JsonNode | undefined {
    if (depth > maxDepth) return this.#refuse('nested too deeply')
    this.#skipSpace()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#array(depth)
      case '"':
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  #object(depth: number): JsonObject | undefined {
    const start = this.#at
    const members = new Map<string, JsonNode>()
    const isWhole = this.#list('}', () => {
      this.#skipSpace()
      const name = this.#text[this.#at] === '"' ? this.#string() : undefined
      if (name === undefined || !this.#skip(':')) return false
      const value = this.value(depth + 1)
      if (value === undefined) return false
      if (members.has(name.value)) return this.#refuse('the same member twice in one object') !== undefined
      members.set(name.value, value)
      return true
    })
    return isWhole ? { kind: 'object', members, start, end: this.#at } : undefined
  }

  #array(depth: number): JsonArray | undefined {
    const start = this.#at
    const items: JsonNode[] = []
    const isWhole = this.#list(']', () => {
      const item = this.value(depth + 1)
      if (item !== undefined) items.push(item)
      return item !== undefined
    })
    return isWhole ? { kind: 'array', items, start, end: this.#at } : undefined
  }

  /** From an opening bracket to the closing one, with an element before and behind each comma. */
  #list(closing: string, readElement: () => boolean): boolean {
    this.#at++
    if (this.#skip(closing)) return true
    do {
      if (!readElement()) return false
    } while (this.#skip(','))
    return this.#skip(closing)
  }

  #string(): JsonText | undefined {
    const start = this.#at
    const end = endOfString(this.#text, start)
    if (end === undefined) return undefined
    this.#at = end
    const value = this.#text.slice(start + 1, end - 1)
    const decoded = value.includes('\\') ? decode(this.#text.slice(start, end)) : value
    return decoded === undefined ? undefined : { kind: 'text', value: decoded, start, end }
  }

  #scalar(): JsonNumber | JsonWord | undefined {
    const start = this.#at
    const word = words.find(([text]) => this.#text.startsWith(text, start))
    if (word !== undefined) {
      this.#at += word[0].length
      return { kind: 'word', value: word[1], start, end: this.#at }
    }
    number.lastIndex = start
    const match = number.exec(this.#text)
    if (match === null) return undefined
    this.#at = number.lastIndex
    return { kind: 'number', text: match[0], start, end: this.#at }
  }

  #skip(character: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at)
  }

  #refuse(problem: string): undefined {
    this.problem = problem
    return undefined
  }
}

/** Where the string that begins at `start` ends; undefined where it does not. */
export function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at + 1
    if (code === backslash) at++
    else if (code < 0x20) return undefined
  }
  return undefined
}

export function skipSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** A string literal with escapes: JavaScript's own reader knows which there are. */
function decode(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string
  } catch {
    return undefined
  }
}
