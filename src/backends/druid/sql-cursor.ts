/** A place among the tokens of a SQL text. */

import type { Bypass, BypassReason } from './reasons.ts'
import { isSymbol, type Token, wordSet } from './sql-tokens.ts'

/** Words that are no names. */
export const reserved = wordSet(
  'ALL AND ANY ARRAY AS ASC BETWEEN BY CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT FETCH FILTER FOR FROM FULL GROUP ' +
    'HAVING IN INNER INTERSECT IS JOIN LEFT LIKE LIMIT NATURAL NOT OFFSET ON OR ORDER OUTER OVER RIGHT ROW SELECT ' +
    'SET SIMILAR SOME SYMMETRIC TABLE THEN TO UNION USING VALUES WHEN WHERE WINDOW WITH WITHIN',
)

/**
 * A place among tokens that moves on while it reads, up to `end`. Unsupported tokens are a `problem`: it is then at its
 * end, and its return values are meaningless.
 */
export class Cursor {
  problem: Bypass | undefined
  readonly tokens: readonly Token[]
  at: number
  readonly end: number
  /** How many brackets deep it is. */
  depth = 0

  constructor(tokens: readonly Token[], at: number, end: number) {
    this.tokens = tokens
    this.at = at
    this.end = end
  }

  get token(): Token {
    return this.tokens[this.at < this.end ? this.at : this.tokens.length - 1]!
  }

  get isAtEnd(): boolean {
    return this.at >= this.end || this.token.kind === 'end'
  }

  isWord(keyword: string): boolean {
    return this.token.keyword === keyword
  }

  isSymbol(text: string): boolean {
    return isSymbol(this.token, text)
  }

  takeWord(keyword: string): boolean {
    const isHere = this.isWord(keyword)
    if (isHere) this.at++
    return isHere
  }

  takeSymbol(text: string): boolean {
    const isHere = this.isSymbol(text)
    if (isHere) this.at++
    return isHere
  }

  expectWord(keyword: string): void {
    if (!this.takeWord(keyword)) this.refuse(`${keyword} was expected${this.#here()}`)
  }

  expectSymbol(text: string): void {
    if (!this.takeSymbol(text)) this.refuse(`${text} was expected${this.#here()}`)
  }

  /** The first problem counts. */
  refuse(detail: string, bypass: BypassReason = 'unparseable_query'): void {
    this.problem ??= { bypass, detail }
    this.at = this.end
  }

  /** A name, quoted or not. */
  takeName(): string | undefined {
    const { kind, text, keyword } = this.token
    if (kind !== 'name' && (kind !== 'word' || reserved.has(keyword))) return undefined
    this.at++
    return text
  }

  /** From a bracket to the one that closes it. */
  skipBrackets(): void {
    this.expectSymbol('(')
    for (let depth = 1; depth > 0; this.at++) {
      if (this.isAtEnd) {
        this.refuse('a bracket that is not closed')
        return
      }
      if (this.isSymbol('(')) depth++
      else if (this.isSymbol(')')) depth--
    }
  }

  #here(): string {
    const { kind, text } = this.token
    return kind === 'end' ? ', but the query ends' : `, not ${text}`
  }
}
