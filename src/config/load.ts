/**
 * Combines file, environment and flags into one frozen configuration in which every value knows its origin; or reports
 * all problems at once. Precedence: flag, environment, file, default. Pure: the caller reads the file.
 */
import { isUtf8 } from 'node:buffer'
import { withCredentialsApart } from './credentials.ts'
import { frameOf, maskedLines } from './frame.ts'
import { environmentOverrides, type Flag, flagOverrides, type Override, overlay } from './overrides.ts'
import { Reader } from './read.ts'
import { type Config, definition } from './schema.ts'
import { describeSource, isNothing, type Problem, type Raw, rawText, type Source } from './source.ts'
import { maxTextLength, parseYaml } from './yaml.ts'

export interface LoadOptions {
  readonly file?: { readonly name: string; readonly bytes: Uint8Array }
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly flags?: readonly Flag[]
  /** The URL of `windowpane <url>`: that of the backend `main`. */
  readonly upstream?: string
}

export interface LoadedConfig {
  readonly config: Config
  /** By path, such as `limits.maxStale` or `backends.main.url.0`. */
  readonly sources: ReadonlyMap<string, Source>
}

export interface ConfigProblem extends Problem {
  /** Three lines of the file and a caret, without secrets. */
  readonly frame?: string
}

export interface RefusedConfig {
  readonly problems: readonly ConfigProblem[]
}

export function loadConfig(options: LoadOptions): LoadedConfig | RefusedConfig {
  const file = options.file === undefined ? nothing : readFile(options.file.name, options.file.bytes)
  // Its keys cannot be checked.
  if (file.raw === undefined && file.problems.length > 0) return { problems: framed(file) }
  const names = namesIn(file.raw)
  const env = environmentOverrides(definition, options.env ?? {}, names)
  const flags = flagOverrides(definition, options.flags ?? [], names)
  const laid = overlay(file.raw, [
    ...env.overrides,
    ...argumentOverride(options.upstream),
    ...flags.overrides,
  ])
  const reader = new Reader(namesIn(laid.raw))
  const config = reader.read(definition, laid.raw, '') as Config
  const problems = [
    ...file.problems,
    ...env.problems,
    ...flags.problems,
    ...laid.problems,
    ...reader.problems,
  ]
  if (problems.length > 0) return { problems: framed({ ...file, problems: inOrder(problems) }) }
  return { config: deepFreeze(withCredentialsApart(config, reader.sources)), sources: reader.sources }
}

interface FileContent {
  readonly raw: Raw | undefined
  readonly problems: readonly Problem[]
  readonly text: string
}

const nothing: FileContent = { raw: undefined, problems: [], text: '' }

function readFile(file: string, bytes: Uint8Array): FileContent {
  const at = (line: number, column: number): Source => ({ kind: 'file', file, line, column })
  const refuse = (message: string, source = at(1, 1), text = ''): FileContent => ({
    ...nothing,
    text,
    problems: [{ path: '', source, message }],
  })
  if (bytes.length > maxTextLength) return refuse(`the file is larger than ${maxTextLength} bytes`)
  if (!isUtf8(bytes)) return refuse(notUtf8(bytes), at(firstBadLine(bytes), 1))
  const text = new TextDecoder().decode(bytes)
  const { raw, problems } = parseYaml(text, at)
  if (problems.length > 0 && raw === undefined) return { raw, problems, text }
  if (isNothing(raw))
    return refuse('the file is empty; expected at least "backends:" with one entry', at(1, 1), text)
  return { raw, problems, text }
}

const notUtf8 = (bytes: Uint8Array): string =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
    ? 'the file is UTF-16; expected UTF-8'
    : 'this line is not UTF-8'

function firstBadLine(bytes: Uint8Array): number {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(10, start)
    const end = newline < 0 ? bytes.length : newline + 1
    if (!isUtf8(bytes.subarray(start, end))) break
    start = end
  }
  return line
}

/** The names of the entries of a section: those written, and those built in. */
const namesIn =
  (root: Raw | undefined) =>
  (section: string): readonly string[] => {
    const type = Object.hasOwn(definition.keys, section) ? definition.keys[section]?.type : undefined
    const written = root?.kind === 'map' ? root.entries.get(section)?.value : undefined
    const builtIn = type?.kind === 'named' ? type.builtIn : []
    return [...new Set([...builtIn, ...(written?.kind === 'map' ? written.entries.keys() : [])])]
  }

const argumentOverride = (upstream: string | undefined): Override[] => {
  if (upstream === undefined) return []
  const source: Source = { kind: 'argument', name: 'the URL given', key: 'backends.main.url' }
  return [{ path: ['backends', 'main', 'url'], raw: rawText(upstream, source) }]
}

/** As one reads: environment and flags first, then the file from top to bottom. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const place = ({ source }: Problem): number =>
    source.kind === 'file' ? source.line * 1e6 + source.column : source.kind === 'default' ? 0 : -1
  return problems.toSorted((a, b) => place(a) - place(b))
}

function framed({ problems, text }: FileContent): ConfigProblem[] {
  const lines = text === '' ? [] : maskedLines(text)
  return problems.map((problem) => {
    const { source } = problem
    const isShown = source.kind === 'file' && lines.length > 0
    return isShown ? { ...problem, frame: frameOf(lines, source.line, source.column) } : problem
  })
}

function deepFreeze<T>(value: T): T {
  const isPlain = Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]'
  if (typeof value === 'object' && value !== null && isPlain && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}

/** One problem as text: the place, the key, the mistake, the likely intention; then its frame. */
export function describeProblem({ frame, ...problem }: ConfigProblem): string {
  const line = problemLine(problem)
  return frame === undefined ? line : `${line}\n${frame}`
}

/** The same without the frame. A flag names its key by itself. */
export function problemLine({ path, source, message, suggestion }: Problem): string {
  const where = source.kind === 'default' ? 'configuration' : describeSource(source)
  const meant = suggestion === undefined ? '' : `; did you mean "${suggestion}"?`
  const isNamed = path === '' || ('key' in source && path.replace(/\.\d+$/, '') === source.key)
  return [where, ...(isNamed ? [] : [path]), `${message}${meant}`].join(': ')
}
