/** `windowpane limits`: the limits of clients, their remaining tokens, their usage, and the audit log. */
import type { Limit } from '../limits/limit.ts'
import { limitForm, readLimitText } from '../limits/limit-text.ts'
import { timeForms } from '../proxy/admin/time.ts'
import { adminFlags, fetchJson, findAdmin, parametersOf, posting } from './admin-client.ts'
import { type Command, type CommandIo, expectNoMore, type Given, json, Misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { declare } from './limits-declare.ts'
import { auditText, entriesText, inForceText, nameText, usageText } from './limits-text.ts'
import { findNamedProxy } from './proxy-identity.ts'

/** The flags that belong to each action, besides those of all commands. */
const flagsOf = {
  get: ['entity', 'resource'],
  set: ['entity', 'resource', 'system', 'limit', 'parent', 'no-parent', 'by'],
  delete: ['entity', 'resource', 'system', 'by'],
  list: ['resource'],
  plan: ['adopt'],
  apply: ['adopt', 'by'],
  diff: ['adopt'],
  usage: ['entity', 'resource', 'window', 'from', 'to'],
  audit: ['entity', 'resource', 'last'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type Action = keyof typeof flagsOf

const words = {
  name: 'limits',
  summary: 'limits of clients: remaining tokens and usage; set or declare limits',
  synopsis: `${Object.keys(flagsOf).join('|')} [flags]`,
  choices: Object.keys(flagsOf),
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

async function run(given: Given, io: CommandIo): Promise<number> {
  const [action, ...rest] = given.positionals
  if (action === undefined || !Object.hasOwn(flagsOf, action))
    throw new Misuse(`expected one of ${Object.keys(flagsOf).join(', ')}`)
  const stranger = strangerIn(given, action as Action)
  if (stranger !== undefined) throw new Misuse(`--${stranger} does not belong to limits ${action}`)
  if (action === 'plan' || action === 'apply' || action === 'diff') {
    const [file, ...more] = rest
    if (file === undefined || more.length > 0) throw new Misuse(`limits ${action} needs one file`)
    return declare({ action, file, by: authorOf(given, io) }, given, io)
  }
  if (action === 'set' || action === 'delete') return change(given, io)
  expectNoMore(rest)
  if (action === 'get' && !given.has('entity')) throw new Misuse('limits get needs --entity NAME')
  return look(action as keyof typeof views, given, io)
}

const strangerIn = (given: Given, action: Action): string | undefined =>
  Object.values(flagsOf)
    .flat()
    .find((name) => given.has(name) && !(flagsOf[action] as readonly string[]).includes(name))

const authorOf = (given: Given, { env }: CommandIo): string =>
  given.flag('by') ?? (env['USER'] || env['LOGNAME'] || 'unknown')

/** The path of the request, whose parameters are the flags, and the rendering. */
const views = {
  get: { path: '/-/limits', text: inForceText },
  list: { path: '/-/limits', text: entriesText },
  usage: { path: '/-/limits/usage', text: usageText },
  audit: { path: '/-/limits/audit', text: auditText },
} as const

async function look(action: keyof typeof views, given: Given, io: CommandIo): Promise<number> {
  const { path, text } = views[action]
  const last = given.flag('last')
  const names = flagsOf[action].filter((name) => name !== 'last')
  const parameters = parametersOf(given, names, last === undefined ? {} : { limit: last })
  const answer = await fetchJson<never>(await findAdmin(given, io), `${path}${parameters}`)
  io.out(given.has('json') ? json(answer) : text(answer))
  return exitCode.ok
}

async function change(given: Given, io: CommandIo): Promise<number> {
  const [action, ...rest] = given.positionals
  if (given.has('system') === (given.has('entity') || given.has('resource')))
    throw new Misuse('name --entity, --resource, both, or --system alone')
  if (action === 'delete') expectNoMore(rest)
  const { method, body, parameters }: Order = action === 'set' ? setOrder(given, rest) : { method: 'DELETE' }
  const admin = await findNamedProxy(given, io)
  const more = { ...(given.has('system') && { system: '1' }), ...parameters, by: authorOf(given, io) }
  const path = `/-/limits${parametersOf(given, ['entity', 'resource'], more)}`
  const answer = await fetchJson<Changed>(admin, path, { ...(body && posting(body)), method })
  const unchanged = action === 'set' ? 'it was so already' : 'there was nothing to delete'
  io.out(given.has('json') ? json(answer) : `${sentenceOf(answer, unchanged)}\n`)
  return exitCode.ok
}

interface Changed {
  readonly changed: boolean
  readonly entity?: string
  readonly resource?: string
}

const sentenceOf = ({ changed, ...target }: Changed, unchanged: string): string =>
  changed
    ? `Changed: ${nameText(target)}. It holds everywhere within a minute.`
    : `${nameText(target)}: ${unchanged}.`

interface Order {
  readonly method: 'PUT' | 'DELETE'
  readonly body?: object
  readonly parameters?: Readonly<Record<string, string>>
}

function setOrder(given: Given, rest: readonly string[]): Order {
  const limits = limitsIn(given, rest)
  const parent = given.flag('parent')
  const wanted = [limits.length > 0, parent !== undefined, given.has('no-parent')].filter(Boolean).length
  if (wanted !== 1) throw new Misuse('give limits with -l, or --parent NAME, or --no-parent')
  if (given.has('no-parent')) return { method: 'DELETE', parameters: { parent: '1' } }
  return { method: 'PUT', body: parent === undefined ? { limits } : { parent } }
}

/** `-l LIMIT` and `-lLIMIT`, any number of times, and `--limit LIMIT,LIMIT`. */
function limitsIn(given: Given, rest: readonly string[]): readonly Limit[] {
  const texts = given.flag('limit')?.split(',') ?? []
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i]!
    if (!word.startsWith('-l')) expectNoMore([word])
    const text = word.length > 2 ? word.slice(2) : rest[++i]
    if (text === undefined) throw new Misuse(`-l needs a limit: ${limitForm}`)
    texts.push(text)
  }
  return texts.map((text) => {
    const limit = readLimitText(text)
    if ('mistake' in limit) throw new Misuse(limit.mistake)
    return limit
  })
}

export const limits: Command = { words, run }
