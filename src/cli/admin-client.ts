/** Finds the admin listener of a running proxy and sends it requests. */
import { usualAdminAddress } from '../config/checks.ts'
import type { LoadedConfig, RefusedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { readSecret } from '../core/credentials.ts'
import { jsonIn } from '../core/json-object.ts'
import { socketPathOf } from '../core/socket-address.ts'
import { failureText } from '../core/text.ts'
import { withoutCredentials } from '../core/url.ts'
import type { CommandIo, FlagWords, Given } from './command.ts'
import { adminVariable, configFileName, isAddress, readConfig } from './config-file.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { withProgress } from './progress.ts'
import { problemsIn } from './reload.ts'
import { oneLine } from './text.ts'

export const adminFlags: readonly FlagWords[] = [
  {
    name: 'admin',
    value: 'URL',
    about: 'the admin listener of the proxy; default 127.0.0.1:9192',
    env: adminVariable,
    key: 'admin.listen',
  },
  {
    name: 'token-file',
    value: 'FILE',
    about: 'its token; WINDOWPANE_ADMIN_TOKEN holds the token itself',
    env: 'WINDOWPANE_ADMIN_TOKEN_FILE',
    key: 'admin.tokenFile',
  },
  {
    name: 'config',
    value: 'FILE',
    about: 'the configuration of the proxy: address and token are read from it',
    env: 'WINDOWPANE_CONFIG',
  },
  { name: 'json', about: 'for programs' },
]

/** Of commands that show the nodes that share a store as one. */
export const nodeFlag: FlagWords = {
  name: 'node',
  value: 'NAME',
  about: 'only this one of the nodes that share a store; all of them unless given',
}

/** An admin listener, and the command that queries it. */
export interface AdminClient {
  /** `http://host:port`, perhaps with a path, or `unix:/path`. */
  readonly url: string
  readonly token: string | undefined
  readonly io: CommandIo
}

/** A view of the admin API, of which proxies of other versions may lack all members but these. */
export type Lenient<View, Kept extends keyof View> = Partial<View> & Pick<View, Kept>

export interface AdminReply {
  readonly status: number
  readonly text: string
}

export interface AdminRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly body?: string
  readonly type?: string
  /** After this long there is no answer. */
  readonly patienceMs?: number
}

/** A request that sends a value as JSON. */
export const posting = (value: unknown) =>
  ({ method: 'POST', body: JSON.stringify(value), type: 'application/json' }) as const

/** Flags that are parameters of the request by the same name, as the end of a path. */
export function parametersOf(
  given: Given,
  names: readonly string[],
  more: Readonly<Record<string, string>> = {},
): string {
  const chosen = [...names.map((name) => [name, given.flag(name)] as const), ...Object.entries(more)]
  const texts = chosen.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return texts.length === 0 ? '' : `?${texts.join('&')}`
}

/** The listener of the proxy: from the flag, the environment or the configuration, or the default. @throws Failure */
export async function findAdmin(given: Given, io: CommandIo): Promise<AdminClient> {
  const loaded = await adminConfig(given, io)
  if ('config' in loaded) return adminOf(loaded.config.admin, given, io)
  if (nameOf(given, io) === undefined) throw new Failure(exitCode.misused, problemsIn(loaded))
  return adminOf(undefined, given, io)
}

/** The same where the configuration is at hand; without one, flags and environment must have everything. */
export async function adminOf(
  config: Config['admin'] | undefined,
  given: Given,
  io: CommandIo,
): Promise<AdminClient> {
  const url = urlOf(nameOf(given, io), config)
  return { url, token: tokenOf(given.flag('token-file'), config, io), io }
}

const nameOf = (given: Given, { env }: CommandIo): string | undefined =>
  given.flag('admin') ?? (isAddress(env[adminVariable]) ? env[adminVariable] : undefined)

/** Without a file there may still be variables with the address of the listener; the databases do not matter. */
async function adminConfig(given: Given, io: CommandIo): Promise<LoadedConfig | RefusedConfig> {
  const split = { own: given.split.own, flags: [], positionals: [] }
  const withoutFile = { ...split, positionals: ['http://127.0.0.1'] }
  const isFound = configFileName(split, io) !== undefined
  const isNamed = configFileName(withoutFile, io) !== undefined
  const first = await readConfig(isFound ? split : withoutFile, io)
  // A broken file of the current folder that was not named does not keep commands from the usual address.
  return 'problems' in first && !isNamed ? readConfig(withoutFile, io) : first
}

function urlOf(named: string | undefined, config: Config['admin'] | undefined): string {
  if (named === undefined && config?.enabled === false)
    throw new Failure(exitCode.unreachable, 'the proxy has no admin listener', 'Set admin.enabled: true.')
  const text = named ?? config?.listen ?? usualAdminAddress
  if (socketPathOf(text) !== undefined) return text
  const url = URL.parse(text.includes('://') ? text : `http://${fromHere(text)}`)
  if (url === null || url.hostname === '' || !/^https?:$/.test(url.protocol)) {
    const sentence = `"${oneLine(withoutCredentials(text))}" is no address of an admin listener`
    throw new Failure(exitCode.misused, sentence, 'Write it like http://127.0.0.1:9192.')
  }
  if (url.port === '0') {
    const sentence = 'admin.listen takes any free port, so where it is cannot be known from here'
    const remedy = 'Name the address with --admin; the proxy prints it at its start.'
    throw new Failure(exitCode.misused, sentence, remedy)
  }
  return `${url.origin}${url.pathname}`.replace(/\/+(?:-\/*)?$/, '')
}

/** An address that means all interfaces when listening means none when connecting. */
const fromHere = (address: string): string =>
  address.replace(/^(?:0\.0\.0\.0|\*)?(?=:\d+$)/, '127.0.0.1').replace(/^\[::\](?=:)/, '[::1]')

function tokenOf(
  named: string | undefined,
  config: Config['admin'] | undefined,
  { env }: CommandIo,
): string | undefined {
  const given = config?.token?.reveal() ?? env['WINDOWPANE_ADMIN_TOKEN']
  if (named === undefined && given) return given
  const file = named ?? config?.tokenFile ?? env['WINDOWPANE_ADMIN_TOKEN_FILE']
  if (!file) return undefined
  const read = readSecret(file)
  if (!('error' in read)) return read.secret.trim()
  const sentence = `the token cannot be read: ${read.sentence ?? read.error}`
  throw new Failure(exitCode.misused, sentence, 'Name a file that can be read with --token-file.')
}

interface AdminFetch extends Pick<AdminRequest, 'method' | 'body'> {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** `fetch` over TCP, or over a unix socket. */
export async function fetchAdmin(
  { url, token }: AdminClient,
  path: string,
  { headers, ...rest }: AdminFetch,
): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const init = { ...rest, headers: { ...headers, ...authorization }, redirect: 'error' } as const
  const socketPath = socketPathOf(url)
  if (socketPath === undefined) return fetch(`${url}${path}`, init)
  // Only here: commands that use TCP do not wait until the client is loaded.
  const { Agent, fetch: fetchWith } = await import('undici')
  const dispatcher = new Agent({ connect: { socketPath } })
  return (await fetchWith(`http://localhost${path}`, { ...init, dispatcher })) as unknown as Response
}

/** The listener's response, whatever it is. @throws Failure where it does not answer. */
export async function askAdmin(
  admin: AdminClient,
  path: string,
  { method = 'GET', body, type, patienceMs }: AdminRequest = {},
): Promise<AdminReply> {
  const { url, io } = admin
  const controller = new AbortController()
  const timer = patienceMs === undefined ? undefined : io.clock.after(patienceMs, () => controller.abort())
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
  const asking = fetchAdmin(admin, path, {
    ...{ method, headers, signal: controller.signal },
    ...(body !== undefined && { body }),
  }).then(async (answer) => ({ status: answer.status, text: await answer.text() }))
  try {
    return await withProgress(io, `waiting for ${url}`, asking)
  } catch (error) {
    throw unreachable(url, error)
  } finally {
    timer?.cancel()
  }
}

export function unreachable(url: string, error: unknown): Failure {
  const remedy =
    'Start the proxy, or name its admin listener with --admin URL, WINDOWPANE_ADMIN or --config FILE.'
  const sentence = `no admin listener answers at ${url}: ${causeOf(error)}`
  return new Failure(exitCode.unreachable, sentence, remedy)
}

export const noWindowpane = ({ url }: AdminClient): Failure =>
  unreachable(url, new Error('the server there is no Windowpane'))

export const causeOf = (error: unknown): string => oneLine(failureText(error))

/** The data of an answer. @throws Failure where there is none. */
export async function fetchJson<T>(admin: AdminClient, path: string, request?: AdminRequest): Promise<T> {
  const reply = await askAdmin(admin, path, request)
  const refusal = refusalOf(reply)
  if (refusal !== undefined) throw refusal
  const data = jsonIn(reply.text)
  if (data === undefined) throw noWindowpane(admin)
  return data as T
}

/** An answer that is none, as a failure with its remedy. */
export function refusalOf({ status, text }: AdminReply): Failure | undefined {
  if (status < 300) return undefined
  const said = oneLine(text.slice(0, 2000)).replace(/^windowpane: /, '')
  if (status === 401) {
    const remedy = 'Name its file with --token-file, or put the token into WINDOWPANE_ADMIN_TOKEN.'
    return new Failure(exitCode.unreachable, said, remedy)
  }
  if (status === 403 && /allowWrites/.test(said)) {
    const remedy =
      'Set admin.allowWrites: true (or start the proxy with --admin.allow-writes) and restart it.'
    return new Failure(exitCode.failed, said, remedy)
  }
  if (status === 400) return new Failure(exitCode.misused, said)
  if (status === 404)
    return new Failure(exitCode.failed, said, 'Is it another version of Windowpane, or another server?')
  return new Failure(exitCode.failed, `the admin listener answered with status ${status}: ${said}`)
}
