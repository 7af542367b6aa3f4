/**
 * Strict JSON that knows the position of each value and keeps numbers as they were written. Texts that Jackson might
 * read differently from us (a member twice, something behind the end) are refused, never guessed.
 */
import { jsonIn } from '../../core/json-object.ts'
import { type Bypass, malformed } from './reasons.ts'

/** text[start .. end) is the value as it was written. */
interface Placed {
  readonly start: number
  readonly end: number
}

export type JsonNode = Placed &
  (
    | { readonly kind: 'object'; readonly members: ReadonlyMap<string, JsonNode> }
    | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
    | { readonly kind: 'text'; readonly value: string }
    | { readonly kind: 'number'; readonly text: string }
    | { readonly kind: 'word'; readonly value: boolean | null }
  )

export type JsonObject = Extract<JsonNode, { kind: 'object' }>

/** No real query is deeper than this, and reading goes one call deeper for each level. */
const maxDepth = 200
/** A value takes 60 to 300 bytes of memory. No dashboard has more; filters with 50 000 values are sent. */
const maxValues = 65_536

export function readJson(text: string): JsonNode | Bypass {
  const reader = new JsonReader(text)
  const node = reader.value(0)
  if (node === undefined) return malformed(reader.problem)
  return reader.isAtEnd() ? node : malformed('something behind the end of the JSON text')
}

export function readJsonObject(text: string): JsonObject | Bypass {
  const node = readJson(text)
  return 'bypass' in node || node.kind === 'object' ? node : malformed('not an object')
}

/** The value as JavaScript has it, for callers that accept numbers as doubles. */
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

const words: ReadonlyMap<number, readonly [text: string, value: boolean | null]> = new Map([
  [0x74, ['true', true]],
  [0x66, ['false', false]],
  [0x6e, ['null', null]],
])

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** One for all empty objects: an empty map takes many times the memory of its text. */
const noMembers: ReadonlyMap<string, JsonNode> = new Map()

class JsonReader {
  problem = 'not JSON'
  readonly #text: string
  #at = 0
  #values = 0
  /** Items of arrays that have not ended yet: an array that grows by itself has room for 17 items from the first one on. */
  readonly #items: JsonNode[] = []

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    this.#skipSpace()
    return this.#at === this.#text.length
  }

  /** Undefined where no value can be read: then `problem` has the reason. */
  value(depth: number): JsonNode | undefined {
    if (depth > maxDepth) return this.#refuse('nested too deeply')
    if (++this.#values > maxValues) return this.#refuse(`more than ${maxValues} values`)
    this.#skipSpace()
    switch (this.#text.charCodeAt(this.#at)) {
      case openBrace:
        return this.#object(depth)
      case openBracket:
        return this.#array(depth)
      case quote:
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  #object(depth: number): JsonNode | undefined {
    const start = this.#at++
    if (this.#skip(closeBrace)) return { kind: 'object', members: noMembers, start, end: this.#at }
    const members = new Map<string, JsonNode>()
    do {
      if (!this.#member(members, depth)) return undefined
    } while (this.#skip(comma))
    return this.#skip(closeBrace) ? { kind: 'object', members, start, end: this.#at } : undefined
  }

  #member(members: Map<string, JsonNode>, depth: number): boolean {
    this.#skipSpace()
    const name = this.#text.charCodeAt(this.#at) === quote ? this.#string() : undefined
    if (name === undefined || !this.#skip(colon)) return false
    const value = this.value(depth + 1)
    if (value === undefined) return false
    if (members.has(name.value)) return this.#refuse('the same member twice in one object') !== undefined
    members.set(name.value, value)
    return true
  }

  #array(depth: number): JsonNode | undefined {
    const start = this.#at++
    const first = this.#items.length
    if (!this.#skip(closeBracket)) {
      do {
        const item = this.value(depth + 1)
        if (item === undefined) return undefined
        this.#items.push(item)
      } while (this.#skip(comma))
      if (!this.#skip(closeBracket)) return undefined
    }
    return { kind: 'array', items: this.#items.splice(first), start, end: this.#at }
  }

  #string(): Extract<JsonNode, { kind: 'text' }> | undefined {
    const start = this.#at
    const end = endOfString(this.#text, start)
    if (end === undefined) return undefined
    this.#at = end
    const value = this.#text.slice(start + 1, end - 1)
    const decoded = value.includes('\\') ? decode(this.#text.slice(start, end)) : value
    return decoded === undefined ? undefined : { kind: 'text', value: decoded, start, end }
  }

  #scalar(): JsonNode | undefined {
    const start = this.#at
    const [word, value] = words.get(this.#text.charCodeAt(start)) ?? []
    if (word !== undefined && value !== undefined && this.#text.startsWith(word, start)) {
      this.#at += word.length
      return { kind: 'word', value, start, end: this.#at }
    }
    number.lastIndex = start
    if (!number.test(this.#text)) return undefined
    this.#at = number.lastIndex
    return { kind: 'number', text: this.#text.slice(start, this.#at), start, end: this.#at }
  }

  #skip(character: number): boolean {
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at) !== character) return false
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
const decode = (literal: string): string | undefined => jsonIn(literal) as string | undefined
