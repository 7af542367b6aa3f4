/**
 * Counts lines that break the word rules of this project: `npm run words`. Comments, messages and documentation are plain
 * engineering English: a noun as subject, and the term that an SRE searches for.
 *
 *   npm run words                      one row per folder
 *   npm run words -- --list src/core   every line that breaks a rule, with the suggested term
 *   npm run words -- --max 400         fails where more lines than that break a rule
 *   npm run words -- --root DIR        counts another checkout, such as an older commit
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

interface Rule {
  readonly name: string
  readonly pattern: RegExp
  readonly instead: string
}

export const rules: readonly Rule[] = [
  {
    name: 'what',
    pattern: /\bwhat\b(?! to\b)/i,
    instead: 'name the noun: the response, the row, the error …',
  },
  {
    name: 'who',
    pattern: /\bwho(ever|mever)\b|(^|[.:;(,]\s|\b(?:and|by|for|of|to|where)\s)who\b/i,
    instead: 'name the caller: a client, a reader, the operator …',
  },
  { name: 'those that', pattern: /\b(those (that|who|which)|that which)\b/i, instead: 'repeat the noun' },
  { name: 'nobody', pattern: /\b(nobody|somebody|anybody)\b/i, instead: 'no client, no reader, a caller …' },
  { name: 'believe', pattern: /\bbeliev(e|es|ed|ing)\b/i, instead: 'cached (TTL), fresh, trusted' },
  { name: 'say', pattern: /\b(says?|said|saying)\b/i, instead: 'states, returns, logs, reports, means' },
  {
    name: 'tell',
    pattern: /\b(tells?|told|telling)\b/i,
    instead: 'reports, sends, distinguishes; "by default"',
  },
  { name: 'ask', pattern: /\b(asks?|asked|asking)\b/i, instead: 'query, request, fetch, call' },
  {
    name: 'leave',
    pattern: /\bleaves?(?=[.,;:]|$| (first|earlier|when|before|again)\b)/i,
    instead: 'is evicted, is removed, disconnects',
  },
]

/** The rules that a line of prose breaks. Code in backticks is not prose. */
export function brokenRules(line: string): Rule[] {
  const prose = line.replaceAll(/`[^`]*`/g, '``')
  return rules.filter(({ pattern }) => pattern.test(prose))
}

/** `comments` and `texts` (string literals that are sentences) of source files; `docs` are lines of Markdown. */
const kinds = ['comments', 'texts', 'docs'] as const
type Kind = (typeof kinds)[number]

interface Line {
  readonly file: string
  readonly number: number
  readonly kind: Kind
  readonly text: string
}

const roots = [
  'src',
  'bench',
  'scripts',
  'lint',
  'test',
  'docs',
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
]
/** Rows of the table; a longer path counts before a shorter one. */
const split = ['src', 'src/engine', 'src/proxy', 'docs']
/** These files quote the words that the rules look for. */
const exempt = /^scripts\/words(\.test)?\.ts$/

/** Every line of prose below a folder. */
export function proseOf(root: string): Line[] {
  const files = roots.flatMap((name) => filesBelow(join(root, name)))
  return files
    .map((file) => relative(root, file))
    .filter((file) => !exempt.test(file))
    .flatMap((file) => linesOf(file, readFileSync(join(root, file), 'utf8')))
}

function filesBelow(path: string): string[] {
  if (/\.(ts|md|grit)$/.test(path)) return [path]
  const entries = readdirSync(path, { withFileTypes: true })
  return entries.flatMap((entry) => {
    const below = join(path, entry.name)
    return entry.isDirectory() || /\.(ts|md|grit)$/.test(entry.name) ? filesBelow(below) : []
  })
}

function linesOf(file: string, content: string): Line[] {
  let fenced = false
  return content.split('\n').flatMap((text, i): Line[] => {
    const number = i + 1
    if (!file.endsWith('.md')) return proseOfCode(text).map((prose) => ({ file, number, ...prose }))
    if (text.startsWith('```')) fenced = !fenced
    return fenced || text.trim() === '' ? [] : [{ file, number, kind: 'docs', text }]
  })
}

/** The comment on a line of code, or its string literals of four words or more. */
function proseOfCode(line: string): { kind: Kind; text: string }[] {
  const comment = /^\s*(?:\/\/|\/\*\*?|\*(?!\/))\s?(.*?)(?:\*\/)?$/.exec(line) ?? /\s\/\/ (.*)$/.exec(line)
  if (comment !== null) return [{ kind: 'comments', text: comment[1]! }]
  const literals = [...line.matchAll(/(['"`])((?:\\.|(?!\1).)*)\1/g)].map((match) =>
    match[2]!.replaceAll(/\$\{[^}]*\}/g, '…'),
  )
  return literals.filter((text) => /\w+(\W+[a-z]+){3}/i.test(text)).map((text) => ({ kind: 'texts', text }))
}

/** The folder that a file is counted under. */
function folderOf(file: string): string {
  const parts = file.split('/').slice(0, -1)
  const depth = split.includes(parts.slice(0, 2).join('/')) ? 3 : split.includes(parts[0] ?? '') ? 2 : 1
  return parts.slice(0, depth).join('/') || file
}

type Count = Record<Kind, { lines: number; broken: number }>

/** How many lines of each kind there are, and how many of them break a rule. */
export function count(lines: readonly Line[]): Count {
  const counted = Object.fromEntries(kinds.map((kind) => [kind, { lines: 0, broken: 0 }])) as Count
  for (const { kind, text } of lines) {
    counted[kind].lines++
    if (brokenRules(text).length > 0) counted[kind].broken++
  }
  return counted
}

function printTable(lines: readonly Line[]): void {
  const folders = Map.groupBy(lines, ({ file }) => folderOf(file))
  const rows = [...folders].sort(([a], [b]) => (a < b ? -1 : 1))
  console.log(`${'folder'.padEnd(24)}${kinds.map((kind) => kind.padStart(20)).join('')}`)
  for (const [folder, own] of [...rows, ['all', lines] as const]) {
    const counted = count(own)
    const cells = kinds.map((kind) => cell(counted[kind]).padStart(20))
    console.log(`${folder.padEnd(24)}${cells.join('')}`)
  }
}

function cell({ lines, broken }: { lines: number; broken: number }): string {
  return lines === 0 ? '' : `${broken} of ${lines} (${((100 * broken) / lines).toFixed(1)} %)`
}

function main(): void {
  const { values } = parseArgs({
    options: { list: { type: 'string' }, max: { type: 'string' }, root: { type: 'string' } },
  })
  const lines = proseOf(values.root ?? fileURLToPath(new URL('..', import.meta.url)))
  if (values.list === undefined) printTable(lines)
  for (const { file, number, text } of values.list === undefined ? [] : lines) {
    const broken = brokenRules(text)
    if (!file.startsWith(values.list!) || broken.length === 0) continue
    console.log(`${file}:${number}: ${text.trim()}`)
    for (const { name, instead } of broken) console.log(`    ${name}: ${instead}`)
  }
  const total = lines.filter(({ text }) => brokenRules(text).length > 0).length
  if (values.max === undefined || total <= Number(values.max)) return
  console.error(`${total} lines break a word rule; at most ${values.max} may. \`--list src\` shows them.`)
  process.exitCode = 1
}

if (import.meta.main) main()
