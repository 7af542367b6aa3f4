/** YAML text to raw values that know their line and column. Bounded in size, depth and the expansion of aliases. */

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
} from 'yaml'
import type { Problem, Raw, RawEntry, Source } from './source.ts'

export interface ParsedYaml {
  /** Undefined where the text is no YAML, or empty. */
  readonly raw: Raw | undefined
  readonly problems: readonly Problem[]
}

const maxDepth = 32
/** A text that is no YAML at all is wrong at every line. */
const mostErrors = 20
export const maxTextLength = 256 * 1024

const tooDeep = `is nested more deeply than ${maxDepth} levels`

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

/** `at` returns the place of an offset of the text. Takes time in proportion to the text and `maxNodes`, not to the square. */
export function parseYaml(
  text: string,
  at: (line: number, column: number) => Source,
  maxNodes = 10_000,
): ParsedYaml {
  const lines = new LineCounter()
  const sourceAt = (offset: number): Source => {
    const { line, col } = lines.linePos(offset)
    return at(line, col)
  }
  try {
    const { contents, errors } = parseDocument(text, {
      ...{ lineCounter: lines, prettyErrors: false, schema: 'core', uniqueKeys: false },
    })
    if (errors.length > 0)
      return { raw: undefined, problems: firstOfEachPlace(errors).map((error) => problemOf(error, sourceAt)) }
    const converter = new Converter(sourceAt, maxNodes)
    const raw = contents === null ? undefined : converter.convert(contents as Node, undefined, 0)
    return { raw: converter.hasOverflown ? undefined : raw, problems: converter.problems }
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

function problemOf(error: YAMLError, sourceAt: (offset: number) => Source): Problem {
  const code = error.message.startsWith('Flow') ? 'MISSING_CHAR' : error.code
  return { path: '', source: sourceAt(error.pos[0]), message: sentences[code] ?? 'this is not YAML' }
}

/** Converts in the order of the text, so that an alias finds the last anchor before it. */
class Converter {
  readonly problems: Problem[] = []
  hasOverflown = false
  #count = 0
  readonly #anchors = new Map<string, Node>()
  readonly #sourceAt: (offset: number) => Source
  readonly #maxNodes: number

  constructor(sourceAt: (offset: number) => Source, maxNodes: number) {
    this.#sourceAt = sourceAt
    this.#maxNodes = maxNodes
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
      const target = this.#anchors.get(node.source)
      if (target === undefined)
        this.#addProblem(source, `there is no anchor &${node.source} before this alias`)
      return this.convert(target ?? null, owner ?? source, depth + 1)
    }
    if ('anchor' in node && typeof node.anchor === 'string') this.#anchors.set(node.anchor, node)
    if (isSeq(node)) {
      const items = node.items.map((item) => this.convert(item as Node, undefined, depth + 1))
      return { kind: 'list', items, source: owner ?? source }
    }
    if (isMap(node)) {
      const entries = new Map<string, RawEntry>()
      for (const pair of node.items) this.#addEntry(entries, pair as Pair<Node, Node | null>, depth)
      return { kind: 'map', entries, source: owner ?? source }
    }
    return isScalar(node) ? { ...nothing, value: plainOf(node.value) } : nothing
  }

  #addEntry(entries: Map<string, RawEntry>, { key, value }: Pair<Node, Node | null>, depth: number): void {
    const keySource = this.#sourceAt(key.range?.[0] ?? 0)
    const name = isScalar(key) && key.value !== null ? String(key.value) : undefined
    if (name === undefined) {
      this.#addProblem(keySource, 'a key must be a word')
      return
    }
    if (entries.has(name)) this.#addProblem(keySource, `the key "${name.slice(0, 80)}" is written twice`)
    entries.set(name, { keySource, value: this.convert(value, keySource, depth + 1) })
  }

  #isWithinBounds(source: Source, depth: number): boolean {
    this.#count++
    if (this.hasOverflown) return false
    if (depth <= maxDepth && this.#count <= this.#maxNodes) return true
    this.hasOverflown = true
    this.#addProblem(
      source,
      depth > maxDepth ? tooDeep : `holds more than ${this.#maxNodes} values, aliases (*) included`,
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
