/** `windowpane explain`: the decision about a query, and its reason; `--run` executes it. */
import type { ExplainReader } from '../backends/kind.ts'
import { kindNames, kinds } from '../backends/kinds.ts'
import { parseDuration } from '../config/units.ts'
import { fileSentence } from '../core/file-error.ts'
import { withoutCredentials } from '../core/url.ts'
import { readTime, timeForms } from '../proxy/admin/time.ts'
import { adminFlags, askAdmin, fetchJson, findAdmin, parametersOf, refusalOf } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse, textIn } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { oneLine, withoutControls } from './text.ts'

const words = {
  name: 'explain',
  summary: 'show how a query would be served, and why',
  synopsis: '<query, file or -> | --data BODY [options]',
  examples: [
    "windowpane explain 'sum(rate(http_requests_total[5m]))'",
    'windowpane explain --start -6h --step 60 --run up',
    'windowpane explain --data @query.json --json',
  ],
  about: `A file, or - for the input, holds PromQL, a form (query=…&start=…), the URL of a
query, a query in JSON or SQL, or a request as JSON: {"path", "search",
"headers", "body"}. Headers matter where clients do not share all answers.`,
  flags: [
    {
      name: 'data',
      value: 'BODY',
      about: 'the body of a query, as for curl: @FILE, @- for the input, or itself',
    },
    { name: 'backend', value: 'NAME', about: 'the database that is meant; default: the first' },
    { name: 'start', value: 'TIME', about: `of PromQL: ${timeForms}; default: one hour before the end` },
    { name: 'end', value: 'TIME', about: 'default: now' },
    { name: 'step', value: 'TIME', about: 'default: 15s' },
    { name: 'run', about: 'run the query, too, and show the time of each step' },
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable],
} as const

const hourMs = 3_600_000

/** The body of the request, and its content type. */
interface ExplainRequest {
  readonly body: string
  readonly type: string
  /** About the assumptions that were made. */
  readonly note?: string
}

async function run(given: Given, io: CommandIo): Promise<number> {
  const { text, note = '' } = await givenText(given, io)
  const { note: assumed = '', ...request } = requestOf(text, given, io)
  const admin = await findAdmin(given, io)
  const posted = { method: 'POST', ...request } as const
  if (given.has('json')) {
    io.out(json(await fetchJson<object>(admin, pathOf(given), posted)))
    return exitCode.ok
  }
  const reply = await askAdmin(admin, pathOf(given), posted)
  const refusal = refusalOf(reply)
  if (refusal !== undefined) throw refusal
  io.out(withNotes(withoutControls(reply.text), `${note}${assumed}`))
  return exitCode.ok
}

/** The verdict comes first; assumptions stand before the rows that follow from them. */
function withNotes(text: string, notes: string): string {
  if (notes === '') return text
  const end = text.indexOf('\n\n')
  return end < 0 ? `${text}\n${notes}` : `${text.slice(0, end + 2)}${notes}${text.slice(end + 2)}`
}

function pathOf(given: Given): string {
  const run = given.has('run') ? { run: '1' } : {}
  const format = given.has('json') ? {} : { format: 'text' }
  return `/-/explain${parametersOf(given, ['backend'], { ...run, ...format })}`
}

interface GivenText {
  readonly text: string
  /** Its interpretation, where that is not obvious. */
  readonly note?: string
}

async function givenText(given: Given, io: CommandIo): Promise<GivenText> {
  const [named, ...more] = given.positionals
  const data = given.flag('data')
  if (data !== undefined) {
    if (named !== undefined) throw new Misuse('expected a query or --data, not both')
    return { text: await dataOf(data, io) }
  }
  if (named === undefined) throw new Misuse('a query is missing')
  if (more.length > 0) throw new Misuse('expected one query; put quotes around it')
  return textOf(named, io)
}

async function dataOf(data: string, io: CommandIo): Promise<string> {
  if (!data.startsWith('@')) return data
  const name = data.slice(1)
  return textIn(name, io).catch((error) => {
    throw new Misuse(`--data: ${fileSentence(oneLine(name), error)}`)
  })
}

/** A text that is no file name is the query itself; the output names the interpretation. */
async function textOf(named: string, io: CommandIo): Promise<GivenText> {
  try {
    const text = await textIn(named, io)
    return named === '-' ? { text } : { text, note: `file     ${oneLine(named)}\n` }
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EACCES'
    if (isThere || isFileNotQuery(named)) throw new Misuse(fileSentence(oneLine(named), error))
    return { text: named }
  }
}

/** Written as a path, or with an extension: no query looks like that. */
const isFileNotQuery = (text: string): boolean =>
  /^(?:~|\.{0,2})\/\S*$/.test(text) || /^[^\s:(){}[\]"'=&*+,]+\.[a-z]\w*$/i.test(text)

function requestOf(given: string, flags: Given, io: CommandIo): ExplainRequest {
  const text = given.trim()
  if (text === '') throw new Misuse('the query is empty')
  const whole = wholeRequest(text)
  if (whole === undefined) return rangeOf(text, flags, io)
  const window = ['start', 'end', 'step'].find((name) => flags.has(name))
  if (window === undefined) return whole
  throw new Misuse(`--${window} goes with PromQL; this request has a window of its own`)
}

const jsonType = 'application/json'

/** JSON, a URL, or a whole query in the language of a kind of database is a request by itself. */
function wholeRequest(text: string): ExplainRequest | undefined {
  if (/^\{\s*"(?:[^"\\]|\\.)*"\s*:/.test(text)) return { body: text, type: jsonType }
  if (/^https?:\/\/\S+\?\S+$/.test(text)) {
    const url = URL.parse(text)
    if (url === null) throw new Misuse(`${oneLine(withoutCredentials(text))} is not a URL`)
    const { pathname: path, search } = url
    return { body: JSON.stringify({ path, search }), type: jsonType }
  }
  for (const { read } of readers) {
    const query = read(text)
    if (query !== undefined) return { body: query.body, type: query.contentType }
  }
  return undefined
}

const readers: readonly ExplainReader[] = kindNames.map((name) => kinds[name].explain)
/** Of the language that a text is taken for which is no whole query of any. */
const { overRange } = readers.find((reader) => reader.overRange !== undefined)!

/** Dashboards request windows that begin and end on their step: so do the defaults here. */
function rangeOf(query: string, given: Given, io: CommandIo): ExplainRequest {
  const now = io.clock.now()
  const stepText = given.flag('step') ?? '15s'
  const step = readStep(stepText)
  if (step === undefined) throw new Misuse(`--step ${stepText}: expected a duration such as 15s`)
  const aligned = (instant: number): number => Math.floor(instant / step) * step
  const timeOf = (flag: 'start' | 'end', usual: number): number => {
    const text = given.flag(flag)
    const time = text === undefined ? aligned(usual) : readTime(text, now)
    if (time === undefined) throw new Misuse(`--${flag} ${text}: expected ${timeForms}`)
    return time
  }
  const end = timeOf('end', now)
  const start = timeOf('start', end - hourMs)
  const seconds = (ms: number): string => String(Math.round(ms) / 1000)
  const range = { start: seconds(start), end: seconds(end), step: seconds(step) }
  const { body, contentType } = overRange!(query, range)
  return { body, type: contentType, note: noteOf(given, stepText) }
}

/** A duration, or a number of seconds; undefined where it is neither, or not above 0. */
function readStep(text: string): number | undefined {
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Math.round(Number(text) * 1000) : parseDuration(text)
  return ms !== undefined && ms > 0 ? ms : undefined
}

/** The output names assumptions. */
function noteOf(given: Given, step: string): string {
  const isWindow = given.has('start') || given.has('end')
  if (isWindow && given.has('step')) return ''
  const assumed = [...(isWindow ? [] : ['the last hour']), `step ${step}`].join(', ')
  return `assumed  ${assumed}; --start, --end and --step choose another window\n`
}

export const explain: Command = { words, run }
