/** `windowpane explain`: the decision about a query, and its reason; `--run` executes it. */
import { readFile } from 'node:fs/promises'
import type { ExplainReader } from '../backends/kind.ts'
import { kindNames, kinds } from '../backends/kinds.ts'
import { parseDuration } from '../config/units.ts'
import { fileSentence } from '../core/file-error.ts'
import { withoutCredentials } from '../core/url.ts'
import { readTime, timeForms } from '../proxy/admin/time.ts'
import { type AdminReply, adminFlags, askAdmin, fetchJson, findAdmin, refusalOf } from './admin-client.ts'
import {
  type Command,
  type CommandIo,
  complain,
  type Given,
  type Mistake,
  misuse,
  json as printed,
} from './command.ts'
import { exitCode } from './exit-codes.ts'
import { oneLine, withoutControls } from './text.ts'

const words = {
  name: 'explain',
  summary: 'show how a query would be served, and why',
  synopsis: '<query, file or -> | --data BODY [options]',
  examples: [
    "windowpane explain 'sum(rate(http_requests_total[5m]))'",
    'windowpane explain --start -6h --step 60 --run up',
    'windowpane explain --data @druid-query.json --json',
  ],
  about: `A file, or - for the input, holds PromQL, a form (query=…&start=…), the URL of a
query, a query of Druid (JSON or SQL), or a request as JSON: {"path", "search",
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

/** The request, and the notes about it. */
interface ExplainRequest {
  readonly body: string
  readonly type: string
  readonly note: string
}

async function run(given: Given, io: CommandIo): Promise<number> {
  const read = await givenText(given, io)
  if ('mistake' in read) return misuse(words, read.mistake, io)
  const request = requestOf(read.text, given, io)
  if ('mistake' in request) return misuse(words, request.mistake, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const { body, type, note } = request
  const asked = { io, method: 'POST', body, type } as const
  if (given.has('json')) {
    const answer = await fetchJson<object>(address, pathOf(given), asked)
    if ('code' in answer) return complain(io, answer)
    io.out(printed(answer.data))
    return exitCode.ok
  }
  const reply = await askAdmin(address, pathOf(given), asked)
  const refusal = 'code' in reply ? reply : refusalOf(reply)
  if (refusal !== undefined) return complain(io, refusal)
  io.out(withNotes(withoutControls((reply as AdminReply).text), `${read.note}${note}`))
  return exitCode.ok
}

/** The verdict comes first; assumptions stand before the rows that follow from them. */
function withNotes(text: string, notes: string): string {
  if (notes === '') return text
  const end = text.indexOf('\n\n')
  return end < 0 ? `${text}\n${notes}` : `${text.slice(0, end + 2)}${notes}${text.slice(end + 2)}`
}

function pathOf(given: Given): string {
  const backend = given.flag('backend')
  const parameters = new URLSearchParams({
    ...(backend !== undefined && { backend }),
    ...(given.has('run') && { run: '1' }),
    ...(!given.has('json') && { format: 'text' }),
  })
  return `/-/explain?${parameters}`
}

interface GivenText {
  readonly text: string
  /** Its interpretation, where that is not obvious. */
  readonly note: string
}

async function givenText(given: Given, io: CommandIo): Promise<GivenText | Mistake> {
  const [named, ...more] = given.positionals
  const data = given.flag('data')
  if (data !== undefined) {
    return named === undefined ? dataOf(data, io) : { mistake: 'expected a query or --data, not both' }
  }
  if (named === undefined) return { mistake: 'a query is missing' }
  if (more.length > 0) return { mistake: 'expected one query; put quotes around it' }
  return textOf(named, io)
}

async function dataOf(data: string, io: CommandIo): Promise<GivenText | Mistake> {
  if (!data.startsWith('@')) return { text: data, note: '' }
  const name = data.slice(1)
  if (name === '-') return { text: await io.readInput(), note: '' }
  try {
    return { text: await contentOf(name, io), note: '' }
  } catch (error) {
    return { mistake: `--data: ${fileSentence(oneLine(name), error)}` }
  }
}

/** A text that is no file name is the query itself; the output names the interpretation. */
async function textOf(named: string, io: CommandIo): Promise<GivenText | Mistake> {
  if (named === '-') return { text: await io.readInput(), note: '' }
  try {
    return { text: await contentOf(named, io), note: `file     ${oneLine(named)}\n` }
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EACCES'
    if (isThere || isFileName(named)) return { mistake: fileSentence(oneLine(named), error) }
    return { text: named, note: '' }
  }
}

/** Written as a path, or with an extension: no query looks like that. */
const isFileName = (text: string): boolean =>
  /^(?:~|\.{0,2})\/\S*$/.test(text) || /^[^\s:(){}[\]"'=&*+,]+\.[a-z]\w*$/i.test(text)

const contentOf = async (name: string, io: CommandIo): Promise<string> =>
  Buffer.from(await (io.readFile ?? readFile)(name)).toString()

function requestOf(given: string, flags: Given, io: CommandIo): ExplainRequest | Mistake {
  const text = given.trim()
  if (text === '') return { mistake: 'the query is empty' }
  const whole = wholeRequest(text)
  if (whole === undefined) return rangeOf(text, flags, io)
  if ('mistake' in whole) return whole
  const window = ['start', 'end', 'step'].find((name) => flags.has(name))
  if (window === undefined) return whole
  return { mistake: `--${window} goes with PromQL; this request has a window of its own` }
}

const json = 'application/json'

/** JSON, a URL, or a whole query in the language of a kind of database is a request by itself. */
function wholeRequest(text: string): ExplainRequest | Mistake | undefined {
  if (/^\{\s*"(?:[^"\\]|\\.)*"\s*:/.test(text)) return { body: text, type: json, note: '' }
  if (/^https?:\/\/\S+\?\S+$/.test(text)) {
    const url = URL.parse(text)
    if (url === null) return { mistake: `${oneLine(withoutCredentials(text))} is not a URL` }
    const { pathname: path, search } = url
    return { body: JSON.stringify({ path, search }), type: json, note: '' }
  }
  for (const { read } of readers) {
    const query = read(text)
    if (query !== undefined) return { body: query.body, type: query.contentType, note: '' }
  }
  return undefined
}

const readers: readonly ExplainReader[] = kindNames.map((name) => kinds[name].explain)
/** Of the language that a text is taken for which is no whole query of any. */
const { overRange } = readers.find((reader) => reader.overRange !== undefined)!

/** Dashboards request windows that begin and end on their step: so do the defaults here. */
function rangeOf(query: string, given: Given, io: CommandIo): ExplainRequest | Mistake {
  const now = io.clock.now()
  const stepText = given.flag('step') ?? '15s'
  const step = readStep(stepText)
  if (step === undefined) return { mistake: `--step ${stepText}: expected a duration such as 15s` }
  const aligned = (instant: number): number => Math.floor(instant / step) * step
  const end = given.has('end') ? readTime(given.flag('end')!, now) : aligned(now)
  if (end === undefined) return { mistake: `--end ${given.flag('end')}: expected ${timeForms}` }
  const start = given.has('start') ? readTime(given.flag('start')!, now) : aligned(end - hourMs)
  if (start === undefined) return { mistake: `--start ${given.flag('start')}: expected ${timeForms}` }
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
