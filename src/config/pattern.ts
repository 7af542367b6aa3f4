/**
 * The regular expressions of rules. They are matched against texts of clients, so they run on an engine whose time grows with the
 * length of the text and no faster, whatever the pattern (decision 30). V8's own engine takes exponential time for some patterns.
 */
import { RE2JS } from 're2js'
import { Memo } from '../core/memo.ts'

/** Verdicts that are remembered: dashboards repeat their queries, and clients their headers. */
const remembered = { maxTexts: 2_000, maxCharacters: 512 * 1024 }
const longestRemembered = 4 * 1024

/** As long as the longest PromQL that is planned. */
const longestText = 32 * 1024
/** Length of a text times size of the automaton: a longer match is not attempted. Each step takes up to 0.1 µs. */
const maxSteps = 500_000

export class Pattern {
  readonly source: string
  readonly #search: (text: string) => boolean
  readonly #verdicts: Memo<boolean>
  readonly #longestMatched: number

  /** Throws where it is not a regular expression, or one that cannot be matched in linear time. */
  constructor(source: string) {
    const engine = RE2JS.compile(source)
    // Not `test`: its automaton grows with its input, at up to ten times the cost per character for hostile texts.
    const search = (text: string): boolean => engine.matcher(text).find()
    this.source = source
    this.#search = search
    this.#verdicts = new Memo(remembered, search)
    this.#longestMatched = Math.min(longestText, Math.floor(maxSteps / engine.programSize()))
  }

  /** Whether it is found in a text; undefined where the text is too long to be searched. */
  test(text: string): boolean | undefined {
    if (text.length > this.#longestMatched) return undefined
    return text.length > longestRemembered ? this.#search(text) : this.#verdicts.get(text)
  }
}
