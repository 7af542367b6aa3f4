/**
 * Cuts the `intervals` out of the text of a native query. A dashboard repeats the same query for another time: the
 * parsed rest is memoised. Nothing is checked here; both parts are parsed strictly by the callers.
 */
import { endOfString, skipSpace } from './json.ts'

export interface Cut {
  /** The text with `null` for the intervals. */
  readonly question: string
  /** Where that stands. */
  readonly at: number
  /** The intervals as they were written. */
  readonly intervals: string
}

export const placeholder = 'null'

const name = '"intervals"'

/** Undefined where there are none, or where the text is not JSON. */
export function cutIntervals(text: string): Cut | undefined {
  let at = skipSpace(text, 0)
  if (text[at] !== '{') return undefined
  do {
    const nameAt = skipSpace(text, at + 1)
    const nameEnd = text[nameAt] === '"' ? endOfString(text, nameAt) : undefined
    if (nameEnd === undefined) return undefined
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = endOfValue(text, start)
    if (text.slice(nameAt, nameEnd) === name) {
      const question = text.slice(0, start) + placeholder + text.slice(end)
      return { question, at: start, intervals: text.slice(start, end) }
    }
    at = skipSpace(text, end)
  } while (text[at] === ',')
  return undefined
}

/** Where a value ends if the text is JSON. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const character = text[at]!
    if (depth === 0 && (character === ',' || character === '}' || character === ']')) return at
    if (character === '"') at = endOfString(text, at) ?? text.length
    else at++
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth === 0 && '"}]'.includes(character)) return at
  }
  return text.length
}
