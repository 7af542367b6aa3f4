/**
 * The tokens of a Druid SQL text, each with its place. Only tokens that Calcite's lexer certainly reads in the same
 * way: hints, charset prefixes, Unicode escapes, brackets of arrays and names beyond ASCII are refused.
 */
import { type Bypass, unparseable } from './reasons.ts'

export interface Token {
  /** `word`: a name or keyword without quotes. `name`: a quoted name. `end`: behind the last one. */
  readonly kind: 'word' | 'name' | 'string' | 'number' | 'symbol' | 'end'
  /** As written, but names and strings without their quotes. */
  readonly text: string
  /** Words in upper case: keywords and functions may be written in any. Empty for everything else. */
  readonly keyword: string
  /** It stands in text[from .. to). */
  readonly from: number
  readonly to: number
}

export const isSymbol = (token: Token | undefined, text: string): boolean =>
  token?.kind === 'symbol' && token.text === text

/** Keywords or names, separated by spaces. */
export const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** No dashboard has longer texts. */
const maxCharacters = 128 << 10

const blank = /[ \t\r\n\f]+|--[^\r\n]*/y
const patterns: readonly (readonly [kind: Token['kind'], pattern: RegExp, quote?: string])[] = [
  ['word', /[A-Za-z_][A-Za-z0-9_$]*/y],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![A-Za-z0-9_$.])/y],
  ['symbol', /<>|!=|<=|>=|\|\||\/(?![/*])|[(),.;=<>+\-*%?]/y],
  ['string', /'[^']*(?:''[^']*)*'/y, "'"],
  ['name', /"[^"]*(?:""[^"]*)*"/y, '"'],
]

/** Words that may stand right before the quote of a string; others would be a charset or an escape. */
const beforeStrings = new Set(['TIMESTAMP', 'DATE', 'INTERVAL'])

export function tokensOf(text: string): readonly Token[] | Bypass {
  if (text.length > maxCharacters) return unparseable('the query is too long')
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const behind = behindBlank(text, at)
    if (behind !== undefined) {
      at = behind
      continue
    }
    const token = tokenAt(text, at)
    if (token === undefined) return unparseable(`the text at character ${at + 1}`)
    if (token.kind === 'string' && isPrefixed(tokens.at(-1), at)) return unparseable('a prefixed string')
    tokens.push(token)
    at = token.to
  }
  tokens.push({ kind: 'end', text: '', keyword: '', from: text.length, to: text.length })
  return tokens
}

/** Calcite ends a comment that begins with two stars elsewhere, and reads one that begins with a plus as a hint. */
function behindBlank(text: string, at: number): number | undefined {
  if (!text.startsWith('/*', at)) return endOf(blank, text, at)
  if (text[at + 2] === '*' || text[at + 2] === '+') return undefined
  const close = text.indexOf('*/', at + 2)
  return close < 0 ? undefined : close + 2
}

function tokenAt(text: string, from: number): Token | undefined {
  for (const [kind, pattern, quote] of patterns) {
    const to = endOf(pattern, text, from)
    if (to === undefined) continue
    const written = text.slice(from, to)
    const keyword = kind === 'word' ? written.toUpperCase() : ''
    return { kind, text: quote === undefined ? written : unquoted(written, quote), keyword, from, to }
  }
  return undefined
}

const unquoted = (written: string, quote: string): string =>
  written.slice(1, -1).replaceAll(quote + quote, quote)

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

const isPrefixed = (before: Token | undefined, at: number): boolean =>
  before?.kind === 'word' && before.to === at && !beforeStrings.has(before.keyword)
