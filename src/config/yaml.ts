/** YAML text to raw values that know their line and column. Bounded in size, depth and the expansion of aliases. */

import type { Document, Node, YAMLError } from 'yaml'
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseDocument } from 'yaml'
import type { Problem, Raw, RawEntry, Source } from './source.ts'

export interface ParsedYaml {
  /** Undefined where the text is no YAML, or empty. */
  readonly raw: Raw | undefined
  readonly problems: readonly Problem[]
}

const maxDepth = 32
/** A text that is no YAML at all is wrong at every line. */
const mostErrors = 20
const maxNodes = 10_000
export const maxTextLength = 256 * 1024

const tooDeep = `is nested more deeply than ${maxDepth} levels`

/** Mistakes after which the rest can still be read. */
const harmless = new Set(['DUPLICATE_KEY'])

const sentences: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab cannot indent: use spaces',
  MULTIPLE_DOCS: 'expected one document, but "---" begins a second one',
  BAD_INDENT: 'the indentation does not fit the lines before',
  MISSING_CHAR: 'a bracket, a quote or a comma is missing before this',
  RESOURCE_EXHAUSTION: tooDeep,
  BLOCK_AS_IMPLICIT_KEY: 'a value and a map on one line: a second ":" needs quotes or a line of its own',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line; is a ":" missing after it?',
  UNEXPECTED_TOKEN: 'this is not expected here',
  BAD_DIRECTIVE: 'a directive (%) cannot be used here',
}

/** `at` returns the place of an offset of the text. */
export function parseYaml(text: string, at?: (line: number, column: number) => Source): ParsedYaml {
  const lines = new LineCounter()
  const sourceAt = (offset: number): Source => {
    const { line, col } = lines.linePos(offset)
    return at?.(line, col) ?? { kind: 'default' }
  }
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: 'core' })
    const problems = firstOfEachPlace(document.errors).map((error) => problemOf(error, text, sourceAt))
    if (document.errors.some((error) => !harmless.has(error.code))) return { raw: undefined, problems }
    const converter = new Converter(document, sourceAt)
    const raw =
      document.contents === null ? undefined : converter.convert(document.contents as Node, undefined, 0)
    return { raw: converter.hasOverflown ? undefined : raw, problems: [...problems, ...converter.problems] }
  } catch (error) {
    // The parser descends by recursion: a text of brackets only ends its stack.
    if (!(error instanceof RangeError)) throw error
    return { raw: undefined, problems: [{ path: '', source: sourceAt(0), message: tooDeep }] }
  }
}

/** One mistake makes the parser report several errors at the same place; the missing token is the most helpful one. */
function firstOfEachPlace(errors: readonly YAMLError[]): YAMLError[] {
  const byPlace = new Map<number, YAMLError>()
  for (const error of errors) {
    if (!byPlace.has(error.pos[0]) || error.code === 'MISSING_CHAR') byPlace.set(error.pos[0], error)
  }
  return [...byPlace.values()].slice(0, mostErrors)
}

function problemOf(error: YAMLError, text: string, sourceAt: (offset: number) => Source): Problem {
  const source = sourceAt(error.pos[0])
  if (error.code === 'DUPLICATE_KEY') {
    const key = /^[^\s:]*/.exec(text.slice(error.pos[0]))![0]
    return { path: '', source, message: `the key "${key}" is written twice` }
  }
  const code = error.message.startsWith('Flow') ? 'MISSING_CHAR' : error.code
  return { path: '', source, message: sentences[code] ?? 'this is not YAML' }
}

class Converter {
  readonly problems: Problem[] = []
  hasOverflown = false
  #count = 0
  readonly #document: Document
  readonly #sourceAt: (offset: number) => Source

  constructor(document: Document, sourceAt: (offset: number) => Source) {
    this.#document = document
    this.#sourceAt = sourceAt
  }

  /** `owner` is the key of a map or list: that is where an operator looks for it. */
  convert(node: Node | null, owner: Source | undefined, depth: number): Raw {
    const isNothing = node === null || (isScalar(node) && node.value === null)
    const here = node?.range ? this.#sourceAt(node.range[0]) : this.#sourceAt(0)
    const source = isNothing ? (owner ?? here) : here
    const nothing: Raw = { kind: 'scalar', value: null, isText: false, source }
    if (node === null || !this.#isWithinBounds(source, depth)) return nothing
    if (node.tag !== undefined)
      this.#addProblem(source, `tags such as ${tagName(node.tag)} are not used here`)
    if (isAlias(node)) {
      const target = node.resolve(this.#document)
      if (target === undefined)
        this.#addProblem(source, `there is no anchor &${node.source} before this alias`)
      return this.convert(target ?? null, owner ?? source, depth + 1)
    }
    if (isSeq(node)) {
      const items = node.items.map((item) => this.convert(item as Node, undefined, depth + 1))
      return { kind: 'list', items, source: owner ?? source }
    }
    if (isMap(node)) {
      const pairs = node.items.flatMap((pair) => this.#entry(pair as Pair<Node, Node | null>, depth))
      return { kind: 'map', entries: new Map(pairs), source: owner ?? source }
    }
    return isScalar(node) ? { ...nothing, value: plainOf(node.value) } : nothing
  }

  #entry({ key, value }: Pair<Node, Node | null>, depth: number): [string, RawEntry][] {
    const keySource = key.range ? this.#sourceAt(key.range[0]) : this.#sourceAt(0)
    const isWord = isScalar(key) && key.value !== null
    if (!isWord) {
      this.#addProblem(keySource, 'a key must be a word')
      return []
    }
    return [[String(key.value), { keySource, value: this.convert(value, keySource, depth + 1) }]]
  }

  #isWithinBounds(source: Source, depth: number): boolean {
    this.#count++
    if (this.hasOverflown) return false
    if (depth <= maxDepth && this.#count <= maxNodes) return true
    this.hasOverflown = true
    this.#addProblem(
      source,
      depth > maxDepth ? tooDeep : `holds more than ${maxNodes} values, aliases (*) included`,
    )
    return false
  }

  #addProblem(source: Source, message: string): void {
    this.problems.push({ path: '', source, message })
  }
}

const tagName = (tag: string): string => tag.replace('tag:yaml.org,2002:', '!!').slice(0, 40)

const plainOf = (value: unknown): string | number | boolean | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
