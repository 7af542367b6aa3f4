/** Reads a declaration of limits from a file of YAML or JSON. Thousands of entities take time in proportion, not to the square. */
import { readFile, stat } from 'node:fs/promises'
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
} from 'yaml'
import { fileSentence } from '../core/file-error.ts'
import { jsonIn } from '../core/json-object.ts'
import type { CommandIo } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { oneLine } from './text.ts'

const maxBytes = 4 * 1024 * 1024
/** Aliases are written out: a few lines can name more than any memory holds. */
const maxNodes = 1_000_000
const maxDepth = 32

const misused = (sentence: string): Failure => new Failure(exitCode.misused, sentence)

/** `-` is the input. @throws Failure */
export async function readDeclarationFile(name: string, io: Pick<CommandIo, 'readInput'>): Promise<unknown> {
  try {
    if (name !== '-' && (await stat(name)).size > maxBytes) throw tooLong(name)
    const text = name === '-' ? await io.readInput() : await readFile(name, 'utf8')
    if (text.length > maxBytes) throw tooLong(name)
    return parsed(text, name)
  } catch (error) {
    throw error instanceof Failure ? error : misused(fileSentence(name, error))
  }
}

const tooLong = (name: string): Failure =>
  misused(`${oneLine(name)}: a declaration has at most ${maxBytes / 1024 / 1024} MiB`)

function parsed(text: string, name: string): unknown {
  const json = text.trimStart().startsWith('{') ? jsonIn(text) : undefined
  if (json !== undefined) return json
  const lines = new LineCounter()
  try {
    const document = parseDocument(text, {
      ...{ lineCounter: lines, prettyErrors: false, schema: 'core', uniqueKeys: false },
    })
    const [error] = document.errors
    if (error !== undefined) throw new Misplaced(error.pos[0], oneLine(error.message))
    return new Plain().of(document.contents as Document['contents'] & Node, 0) ?? {}
  } catch (error) {
    // The parser descends by recursion: a text of brackets only ends its stack.
    if (error instanceof RangeError) throw misused(`${oneLine(name)}: it is nested too deeply`)
    if (!(error instanceof Misplaced)) throw error
    const { line, col } = lines.linePos(error.offset)
    throw misused(`${oneLine(name)}:${line}:${col}: ${error.message}`)
  }
}

class Misplaced extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

/** Nodes as plain values, in the order of the text, so that an alias finds the last anchor before it. */
class Plain {
  readonly #anchors = new Map<string, Node>()
  #nodes = 0

  of(node: Node | null, depth: number): unknown {
    if (node === null) return null
    if (++this.#nodes > maxNodes || depth > maxDepth)
      throw new Misplaced(offsetOf(node), 'it is too large or nested too deeply')
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source)
      if (target === undefined)
        throw new Misplaced(offsetOf(node), `there is no anchor &${node.source} before it`)
      return this.of(target, depth + 1)
    }
    if ('anchor' in node && typeof node.anchor === 'string') this.#anchors.set(node.anchor, node)
    if (isSeq(node)) return node.items.map((item) => this.of(item as Node, depth + 1))
    if (isMap(node)) return this.#map(node.items as Pair<Node, Node | null>[], depth)
    return isScalar(node) ? node.value : null
  }

  #map(pairs: readonly Pair<Node, Node | null>[], depth: number): object {
    const entries = new Map<string, unknown>()
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(key.value) : undefined
      if (name === undefined) throw new Misplaced(offsetOf(key), 'a key must be a word')
      if (entries.has(name))
        throw new Misplaced(offsetOf(key), `${oneLine(name.slice(0, 80))} is written twice`)
      entries.set(name, this.of(value, depth + 1))
    }
    return Object.fromEntries(entries)
  }
}

const offsetOf = (node: Node): number => node.range?.[0] ?? 0
