/**
 * `warnings` and `infos` of an answer. They are kept as the database's own JSON strings, each with a letter for its
 * list before it, sorted: their order is random in Prometheus, and equal sets must be equal notes.
 */
import type { NoteSet } from '../../core/pane.ts'

export interface Annotations {
  readonly notes: NoteSet
  /** False where the answer is incomplete by its own account (truncated, partial): true, but not to be stored. */
  readonly storable: boolean
}

const lists = { warnings: 'w', infos: 'i' } as const

/**
 * Reads the text behind the last series: the ends of `data` and of the answer, each optionally with the execution
 * members (Thanos has them in `data`, VictoriaMetrics behind it), and the two lists. Undefined for anything else.
 */
export function readAnnotations(
  trailer: string,
  executionMembers: readonly string[] = [],
): Annotations | undefined {
  if (!trailer.startsWith(']')) return undefined
  const notes: string[] = []
  let at = skipMembers(trailer, 1, executionMembers)
  if (trailer[at] !== '}') return undefined
  at = skipMembers(trailer, at + 1, executionMembers)
  for (const [name, letter] of Object.entries(lists)) {
    const opening = `,"${name}":[`
    if (!trailer.startsWith(opening, at)) continue
    at = readList(trailer, at + opening.length, (text) => notes.push(letter + text))
    if (at < 0) return undefined
    at = skipMembers(trailer, at, executionMembers)
  }
  if (trailer.slice(at) !== '}') return undefined
  return { notes: notes.sort(), storable: notes.every(isStorable) }
}

/** The position behind all members at `start` that have one of the names and are an object. */
function skipMembers(text: string, start: number, names: readonly string[]): number {
  const name = names.find((each) => text.startsWith(`,"${each}":{`, start))
  if (name === undefined) return start
  const end = endOfObject(text, start + name.length + 4)
  return end < 0 ? start : skipMembers(text, end, names)
}

/** The position behind the object that begins at `start`, or -1 where the text ends first. */
function endOfObject(text: string, start: number): number {
  let depth = 0
  for (let at = start; at >= 0 && at < text.length; at++) {
    if (text[at] === '"') at = endOfString(text, at) - 1
    else if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at + 1
    if (at < 0) return -1
  }
  return -1
}

/** Reads strings up to behind the closing bracket; returns -1 for anything else. */
function readList(text: string, start: number, onString: (token: string) => void): number {
  let at = start
  for (;;) {
    if (text[at] !== '"') return -1
    const end = endOfString(text, at)
    if (end < 0) return -1
    onString(text.slice(at, end))
    if (text[end] === ']') return end + 1
    if (text[end] !== ',') return -1
    at = end + 1
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at + 1
    if (text[at] === '\\') at++
    // Not JSON, escaped or not.
    if (text.charCodeAt(at) < 0x20) return -1
  }
  return -1
}

/**
 * PromQL's own annotations are storable; everything else in the lists is about the execution (truncated by a limit, a
 * remote that failed), and such an answer must not be reused.
 */
const isStorable = (note: string): boolean => /^[wi]"PromQL (?:warning|info): /.test(note) || isCount(note)

/**
 * Some texts carry numbers of the fetched part (forced monotonicity: differences, a time span): of texts that are equal
 * but for such numbers, one is kept, or a rolling window would collect one per fetch. Numbers in quotes are names, and
 * the one at the end is a position: they count.
 */
export function distinct(notes: Iterable<string>): Iterable<string> {
  const kept = new Map<string, string>()
  for (const note of notes) kept.set(comparable(note), note)
  return kept.values()
}

/** Equal for notes with the same meaning. */
export const comparable = (note: string): string => (note.includes(merged) ? withoutNumbers(note) : note)

/** Beyond ten of a kind, Prometheus lists a random ten and counts the rest. */
export const isCount = (note: string): boolean => /^[wi]"\d+ more .*annotations omitted"$/.test(note)

const merged = 'needed to be fixed for monotonicity'

function withoutNumbers(note: string): string {
  const position = /\(\d+:\d+\)"$/.exec(note)?.[0] ?? ''
  const parts = note.slice(0, note.length - position.length).split('\\"')
  return (
    parts.map((part, i) => (i % 2 === 0 ? part.replace(/\d[\d.]*(?:e[+-]?\d+)?/g, '#') : part)).join('\\"') +
    position
  )
}

/** The two lists as they stand behind `data`, from notes and from our own sentences. */
export function writeAnnotations(notes: Iterable<string>, sentences: readonly string[]): Buffer {
  const found: Record<'w' | 'i', string[]> = { w: sentences.map((text) => JSON.stringify(text)), i: [] }
  for (const note of notes) found[note[0] as 'w' | 'i'].push(note.slice(1))
  let text = ''
  for (const [name, letter] of Object.entries(lists)) {
    if (found[letter].length > 0) text += `,"${name}":[${found[letter].join(',')}]`
  }
  return Buffer.from(text)
}
