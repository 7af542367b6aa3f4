/** Texts of queries that are not given to the parser: it would be slow, or read them in another way than the database. */

/** The parser needs up to a tenth of a second for hostile text of this length. */
export const maxTextLength = 32 * 1024
/** Deep nesting makes the parser slow; no query that a person or a dashboard writes comes near. */
const maxBrackets = 100

/** Why a text is not parsed; undefined where it can be. */
export function unfitText(text: string): string | undefined {
  if (text.length > maxTextLength) return 'the query is too long'
  // Prometheus ends a comment at a carriage return, the grammar only at a line feed.
  if (hasReturnInComment(text)) return 'a carriage return in a comment'
  return bracketDepth(text) > maxBrackets ? 'brackets nested too deeply' : undefined
}

/** Strings and comments are skipped: their brackets would hide real ones. An unclosed one reaches to the end. */
const skipped = /"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\]|\\[\s\S])*'?|`[^`]*`?|#[^\n]*/g

function bracketDepth(text: string): number {
  let depth = 0
  let deepest = 0
  for (const bracket of text.replace(skipped, '').match(/[()[\]{}]/g) ?? []) {
    depth += '([{'.includes(bracket) ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** At the end of a line a carriage return changes nothing. */
const hasReturnInComment = (text: string): boolean =>
  text.includes('\r') && (text.match(skipped) ?? []).some((part) => part[0] === '#' && /\r[^\r]/.test(part))
