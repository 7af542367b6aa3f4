/** `windowpane limits`: the limits of clients, their remaining tokens, their usage, and the audit log. */
import type { Limit } from '../limits/limit.ts'
import { limitForm, readLimitText } from '../limits/limit-text.ts'
import { timeForms } from '../proxy/admin/time.ts'
import { adminFlags, fetchJson, findAdmin } from './admin-client.ts'
import { type Command, type CommandIo, complain, type Given, json, type Mistake, misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { type Declaring, declare } from './limits-declare.ts'
import { auditText, entriesText, inForceText, nameText, usageText } from './limits-text.ts'
import { nameProxy } from './proxy-identity.ts'
import { oneLine } from './text.ts'

const words = {
  name: 'limits',
  summary: 'limits of clients: remaining tokens and usage; set or declare limits',
  synopsis: 'get|set|delete|list|plan|apply|diff|usage|audit [flags]',
  choices: ['get', 'set', 'delete', 'list', 'plan', 'apply', 'diff', 'usage', 'audit'],
  examples: [
    'windowpane limits get --entity team-a --json',
    'windowpane limits set --entity team-a -l requests:100/min:200 -l cost:5000',
    'windowpane limits delete --entity team-a --resource main',
    'windowpane limits plan limits.yaml',
    'windowpane limits usage --window day --from -1w',
  ],
  about: `get shows the limits that are in force for an entity, and their remaining tokens. set and
delete change the limits of an entity, a resource, an entity at a resource, or the system. -l may be
repeated: ${limitForm}, a minute by default; all limits of the place are replaced. plan, apply
and diff take a file that declares limits, in YAML; - is the input. They do not change limits that were set
in another way. plan and diff end with 6 where there is something to change. usage and audit show
the last 90 days. set, delete and apply need admin.allowWrites.`,
  flags: [
    { name: 'entity', value: 'NAME', about: 'of one client, as quotas.entity names it' },
    { name: 'resource', value: 'NAME', about: 'at one backend; get: the first one unless given' },
    { name: 'system', about: 'set, delete: the default limits of all clients' },
    { name: 'limit', value: 'LIMIT', about: 'set: the same as -l; several with commas' },
    { name: 'parent', value: 'NAME', about: 'set: the entity whose limits also apply' },
    { name: 'no-parent', about: 'set: it has no parent any more' },
    { name: 'adopt', about: 'plan, apply, diff: include limits that were set in another way' },
    { name: 'by', value: 'NAME', about: 'the author of the change, for the audit log; default: the user' },
    { name: 'window', value: 'hour|day', about: 'usage: per hour, or per day' },
    { name: 'from', value: 'TIME', about: `usage: from this instant on: ${timeForms}` },
    { name: 'to', value: 'TIME', about: 'usage: up to this instant' },
    { name: 'last', value: 'NUMBER', about: 'audit: so many changes; default 100' },
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable, exitCode.pending],
} as const

type Action = 'get' | 'set' | 'delete' | 'list' | 'usage' | 'audit' | Declaring

/** The flags that belong to each action, besides those of all commands. */
const flagsOf: Readonly<Record<Action, readonly string[]>> = {
  get: ['entity', 'resource'],
  set: ['entity', 'resource', 'system', 'limit', 'parent', 'no-parent', 'by'],
  delete: ['entity', 'resource', 'system', 'by'],
  list: ['resource'],
  plan: ['adopt'],
  apply: ['adopt', 'by'],
  diff: ['adopt'],
  usage: ['entity', 'resource', 'window', 'from', 'to'],
  audit: ['entity', 'resource', 'last'],
}

async function run(given: Given, io: CommandIo): Promise<number> {
  const [action, ...rest] = given.positionals
  if (action === undefined || !Object.hasOwn(flagsOf, action))
    return misuse(words, `expected one of ${Object.keys(flagsOf).join(', ')}`, io)
  const stranger = strangerIn(given, action as Action)
  if (stranger !== undefined) return misuse(words, `--${stranger} does not belong to limits ${action}`, io)
  if (action === 'plan' || action === 'apply' || action === 'diff') {
    const [file, ...more] = rest
    if (file === undefined || more.length > 0) return misuse(words, `limits ${action} needs one file`, io)
    return declare({ action, file, by: authorOf(given, io) }, given, io)
  }
  if (action === 'set' || action === 'delete') return change(action, rest, { given, io })
  if (rest.length > 0) return misuse(words, `"${oneLine(rest[0]!)}" is not understood`, io)
  if (action === 'get' && !given.has('entity')) return misuse(words, 'limits get needs --entity NAME', io)
  return look(action as keyof typeof views, given, io)
}

const strangerIn = (given: Given, action: Action): string | undefined =>
  Object.values(flagsOf)
    .flat()
    .find((name) => given.has(name) && !flagsOf[action].includes(name))

const authorOf = (given: Given, { env }: CommandIo): string =>
  given.flag('by') ?? (env['USER'] || env['LOGNAME'] || 'unknown')

/** The request, its parameters, and the rendering. */
const views = {
  get: { path: '/-/limits', names: ['entity', 'resource'], text: inForceText },
  list: { path: '/-/limits', names: ['resource'], text: entriesText },
  usage: { path: '/-/limits/usage', names: ['entity', 'resource', 'window', 'from', 'to'], text: usageText },
  audit: { path: '/-/limits/audit', names: ['entity', 'resource', 'last'], text: auditText },
} as const

async function look(action: keyof typeof views, given: Given, io: CommandIo): Promise<number> {
  const { path, names, text } = views[action]
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const answer = await fetchJson<never>(address, `${path}${parametersIn(given, names)}`, { io })
  if ('code' in answer) return complain(io, answer)
  io.out(given.has('json') ? json(answer.data) : text(answer.data))
  return exitCode.ok
}

function parametersIn(
  given: Given,
  names: readonly string[],
  more: Readonly<Record<string, string>> = {},
): string {
  const entries = names.flatMap((name) => {
    const value = given.flag(name)
    return value === undefined ? [] : [[name === 'last' ? 'limit' : name, value] as [string, string]]
  })
  const parameters = new URLSearchParams([...entries, ...Object.entries(more)])
  return parameters.size === 0 ? '' : `?${parameters}`
}

interface Asked {
  readonly given: Given
  readonly io: CommandIo
}

async function change(
  action: 'set' | 'delete',
  rest: readonly string[],
  { given, io }: Asked,
): Promise<number> {
  const order = action === 'set' ? setOrder(given, rest) : deleteOrder(rest)
  const mistake = targetMistake(given) ?? ('mistake' in order ? order.mistake : undefined)
  if (mistake !== undefined || 'mistake' in order) return misuse(words, mistake!, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const unnamed = await nameProxy(address, io)
  if (unnamed !== undefined) return complain(io, unnamed)
  const { method, body, parameters = {} } = order
  const more = { ...(given.has('system') && { system: '1' }), ...parameters, by: authorOf(given, io) }
  const path = `/-/limits${parametersIn(given, ['entity', 'resource'], more)}`
  const content = body === undefined ? {} : { body: JSON.stringify(body), type: 'application/json' }
  const answer = await fetchJson<Changed>(address, path, { io, method, ...content })
  if ('code' in answer) return complain(io, answer)
  io.out(given.has('json') ? json(answer.data) : `${sentenceOf(answer.data, action)}\n`)
  return exitCode.ok
}

interface Changed {
  readonly changed: boolean
  readonly version: number
  readonly entity?: string
  readonly resource?: string
}

function sentenceOf({ changed, ...target }: Changed, action: 'set' | 'delete'): string {
  if (changed) return `Changed: ${nameText(target)}. It holds everywhere within a minute.`
  return `${nameText(target)}: ${action === 'set' ? 'it was so already' : 'there was nothing to delete'}.`
}

function targetMistake(given: Given): string | undefined {
  const isNamed = given.has('entity') || given.has('resource')
  return given.has('system') === isNamed ? 'name --entity, --resource, both, or --system alone' : undefined
}

interface Order {
  readonly method: 'PUT' | 'DELETE'
  readonly body?: object
  readonly parameters?: Readonly<Record<string, string>>
}

const deleteOrder = ([odd]: readonly string[]): Order | Mistake =>
  odd === undefined ? { method: 'DELETE' } : { mistake: `"${oneLine(odd)}" is not understood` }

function setOrder(given: Given, rest: readonly string[]): Order | Mistake {
  const limits = limitsIn(given, rest)
  if ('mistake' in limits) return limits
  const parent = given.flag('parent')
  const wanted = [limits.length > 0, parent !== undefined, given.has('no-parent')].filter(Boolean).length
  if (wanted !== 1) return { mistake: 'give limits with -l, or --parent NAME, or --no-parent' }
  if (given.has('no-parent')) return { method: 'DELETE', parameters: { parent: '1' } }
  return { method: 'PUT', body: parent === undefined ? { limits } : { parent } }
}

/** `-l LIMIT` and `-lLIMIT`, any number of times, and `--limit LIMIT,LIMIT`. */
function limitsIn(given: Given, rest: readonly string[]): readonly Limit[] | Mistake {
  const texts = given.flag('limit')?.split(',') ?? []
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i]!
    if (!word.startsWith('-l')) return { mistake: `"${oneLine(word)}" is not understood` }
    const text = word.length > 2 ? word.slice(2) : rest[++i]
    if (text === undefined) return { mistake: `-l needs a limit: ${limitForm}` }
    texts.push(text)
  }
  const read = texts.map(readLimitText)
  const odd = read.find((each): each is Mistake => 'mistake' in each)
  return odd ?? (read as Limit[])
}

export const limits: Command = { words, run }
