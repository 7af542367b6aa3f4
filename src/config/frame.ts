/**
 * The code frame of a problem: three lines and a caret. Lines are masked before they are cut: a frame must not show a
 * password, not even one that stands where it must not, or under a misspelt key, or on the line above the mistake.
 */

import { stars, withoutSecrets } from '../core/secrets.ts'
import { distance } from '../core/suggest.ts'

const widest = 100
/** A key and the text after it; also inside `{ … }`, after `- `, and as `? key`. */
const pair = /(?:^|[\s{,?-])(?:(["'])([\w-]+)\1\s*:|([A-Za-z_][\w-]*)\s*:(?=\s|$)|(?<=\?\s*)([\w-]+)\s*$)/g
const secretWords = ['password', 'passwd', 'token', 'secret', 'apikey', 'credentials', 'passphrase', 'bearer']

function isSecretKey(name: string): boolean {
  const word = name.toLowerCase().replaceAll(/[-_]/g, '')
  if (/file$/.test(word)) return false
  return secretWords.some((known) => word.includes(known) || distance(word, known) <= 2)
}

/** Where on a line the value of a secret key begins; -1 if there is none. */
function secretStart(line: string): number {
  for (const match of line.matchAll(pair)) {
    if (isSecretKey(match[2] ?? match[3] ?? match[4]!)) return match.index + match[0].length
  }
  return -1
}

const indentOf = (line: string): number => line.length - line.trimStart().length

/** The lines of a file as they may be shown. */
export function maskedLines(text: string): string[] {
  /** Lines that are indented more deeply go on with a secret value. */
  let deeperThan = Number.POSITIVE_INFINITY
  return text.split(/\r\n|\n|\r/).map((line) => {
    if (line.trim() === '') return line
    if (indentOf(line) > deeperThan) {
      if (deeperThan < 0) deeperThan = Number.POSITIVE_INFINITY
      return `${' '.repeat(indentOf(line))}${stars}`
    }
    deeperThan = Number.POSITIVE_INFINITY
    const start = secretStart(line)
    if (start < 0) return withoutSecrets(line)
    const value = line.slice(start).trim()
    // A value that begins on the next line may stand at any depth there.
    deeperThan = value === '' ? -1 : indentOf(line)
    return value === '' ? withoutSecrets(line) : `${shownBefore(line, start)} ${stars}`
  })
}

/**
 * The visible part of a line before the value of a secret key. The key may itself be a part of a URL's password, which
 * then ends behind it: such a line is cut where the URL begins.
 */
function shownBefore(line: string, start: number): string {
  const before = line.slice(0, start)
  const url = before.search(/(?:\\?\/){2}/)
  return url >= 0 && line.includes('@') ? before.slice(0, url) : withoutSecrets(before)
}

/** The line, its neighbours, and a caret; `line` and `column` count from 1. */
export function frameOf(lines: readonly string[], line: number, column: number): string {
  const first = Math.max(1, line - 1)
  const shown = lines.slice(first - 1, line + 1)
  const width = String(first + shown.length - 1).length
  const from = Math.max(0, Math.min(column, (lines[line - 1] ?? '').length + 1) - widest + 20)
  const rows = shown.flatMap((text, i) => {
    const number = first + i
    const mark = number === line ? '>' : ' '
    const row = `${mark} ${String(number).padStart(width)} | ${cut(text, from)}`.trimEnd()
    return number === line ? [row, `  ${' '.repeat(width)} | ${caret(text, column, from)}`] : [row]
  })
  return rows.join('\n')
}

const cut = (text: string, from: number): string =>
  text.slice(from, from + widest).replaceAll(/[\t\p{Cc}]/gu, ' ')

/** A masked line is shorter than the real one. */
const caret = (text: string, column: number, from: number): string =>
  `${' '.repeat(Math.max(0, Math.min(column - 1, text.length) - from))}^`
