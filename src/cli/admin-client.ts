/** Finds the admin listener of a running proxy and sends it requests. */
import { readFile } from 'node:fs/promises'
import { usualAdminAddress } from '../config/checks.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { fileSentence } from '../core/file-error.ts'
import { socketPathOf } from '../core/socket-address.ts'
import { withoutCredentials } from '../core/url.ts'
import { fetchAdmin } from './admin-fetch.ts'
import type { CommandIo, FlagWords, Given } from './command.ts'
import { adminVariable, configFileName, isAddress, readConfig } from './config-file.ts'
import { exitCode, type Failure } from './exit-codes.ts'
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

/** The part of `/-/status` about nodes. Proxies of other versions may lack it. */
export interface FleetStatus {
  readonly state: string
  readonly detail?: string
  readonly up: number
  readonly missing: number
}

/** How many nodes a change reaches, and how soon. */
export interface Reach {
  readonly nodes: number
  readonly withinSeconds: number
}

export const reachText = (reach: Reach | undefined): string =>
  reach === undefined || reach.nodes < 2 ? '' : ` at ${reach.nodes} nodes, within ${reach.withinSeconds} s,`

export interface AdminAddress {
  readonly url: string
  readonly token: string | undefined
}

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

/** The address of the proxy: from the flag, the environment or the configuration, or the default. */
export async function findAdmin(given: Given, io: CommandIo): Promise<AdminAddress | Failure> {
  const loaded = await adminConfig(given, io)
  if ('config' in loaded) return addressFor(loaded.config.admin, given, io)
  return nameOf(given, io) === undefined ? loaded : addressFor(undefined, given, io)
}

/** The same where the configuration is at hand; without one, flags and environment must have everything. */
export async function addressFor(
  config: Config['admin'] | undefined,
  given: Given,
  io: CommandIo,
): Promise<AdminAddress | Failure> {
  const url = urlOf(nameOf(given, io), config)
  if (typeof url !== 'string') return url
  const token = await tokenOf(given.flag('token-file'), config, io)
  return typeof token === 'object' ? token : { url, token }
}

const nameOf = (given: Given, { env }: CommandIo): string | undefined =>
  given.flag('admin') ?? (isAddress(env[adminVariable]) ? env[adminVariable] : undefined)

/** Without a file there may still be variables with the address of the listener; the databases do not matter. */
async function adminConfig(given: Given, io: CommandIo): Promise<LoadedConfig | Failure> {
  const split = { own: given.split.own, flags: [], positionals: [] }
  const withoutFile = { ...split, positionals: ['http://127.0.0.1'] }
  const isFound = configFileName(split, io) !== undefined
  const isNamed = configFileName(withoutFile, io) !== undefined
  const first = await readConfig(isFound ? split : withoutFile, io)
  // A broken file of the current folder that was not named does not keep commands from the usual address.
  const loaded = 'problems' in first && !isNamed ? await readConfig(withoutFile, io) : first
  return 'config' in loaded ? loaded : { code: exitCode.misused, sentence: problemsIn(loaded) }
}

function urlOf(named: string | undefined, config: Config['admin'] | undefined): string | Failure {
  if (named === undefined && config?.enabled === false) {
    return {
      code: exitCode.unreachable,
      sentence: 'the proxy has no admin listener',
      remedy: 'Set admin.enabled: true.',
    }
  }
  const text = named ?? config?.listen ?? usualAdminAddress
  if (socketPathOf(text) !== undefined) return text
  const url = URL.parse(text.includes('://') ? text : `http://${fromHere(text)}`)
  if (url === null || url.hostname === '' || !/^https?:$/.test(url.protocol)) {
    const sentence = `"${oneLine(withoutCredentials(text))}" is no address of an admin listener`
    return { code: exitCode.misused, sentence, remedy: 'Write it like http://127.0.0.1:9192.' }
  }
  if (url.port === '0') {
    const sentence = 'admin.listen takes any free port, so where it is cannot be known from here'
    return {
      code: exitCode.misused,
      sentence,
      remedy: 'Name the address with --admin; the proxy prints it at its start.',
    }
  }
  return `${url.origin}${url.pathname}`.replace(/\/+(?:-\/*)?$/, '')
}

/** An address that means all interfaces when listening means none when connecting. */
const fromHere = (address: string): string =>
  address.replace(/^(?:0\.0\.0\.0|\*)?(?=:\d+$)/, '127.0.0.1').replace(/^\[::\](?=:)/, '[::1]')

async function tokenOf(
  named: string | undefined,
  config: Config['admin'] | undefined,
  { env }: CommandIo,
): Promise<string | undefined | Failure> {
  const given = config?.token?.reveal() ?? env['WINDOWPANE_ADMIN_TOKEN']
  if (named === undefined && given) return given
  const file = named ?? config?.tokenFile ?? env['WINDOWPANE_ADMIN_TOKEN_FILE']
  if (!file) return undefined
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const sentence = `the token cannot be read: ${fileSentence(file, error)}`
    return { code: exitCode.misused, sentence, remedy: 'Name a file that can be read with --token-file.' }
  }
}

/** The listener's response, whatever it is; a failure where it does not answer. */
export async function askAdmin(
  { url, token }: AdminAddress,
  path: string,
  { io, ...question }: AdminRequest & { readonly io: CommandIo },
): Promise<AdminReply | Failure> {
  const controller = new AbortController()
  const { method = 'GET', body, type, patienceMs } = question
  const timer = patienceMs === undefined ? undefined : io.clock.after(patienceMs, () => controller.abort())
  const headers = { ...bearer(token), ...(type !== undefined && { 'content-type': type }) }
  const asking = fetchAdmin(url, path, {
    ...{ method, headers, signal: controller.signal, redirect: 'error' },
    ...(body !== undefined && { body }),
  }).then(async (answer) => ({ status: answer.status, text: await answer.text() }))
  try {
    return await withProgress(io, `waiting for ${url}`, asking)
  } catch (error) {
    return unreachable(url, error)
  } finally {
    timer?.cancel()
  }
}

export const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

export function unreachable(url: string, error: unknown): Failure {
  return {
    code: exitCode.unreachable,
    sentence: `no admin listener answers at ${url}: ${causeOf(error)}`,
    remedy:
      'Start the proxy, or name its admin listener with --admin URL, WINDOWPANE_ADMIN or --config FILE.',
  }
}

/** The reason is often in the cause, or has a code only. */
export function causeOf(error: unknown): string {
  const { message, code, cause } = error as Error & { code?: string }
  if (cause !== undefined) return causeOf(cause)
  return oneLine(message || code || 'no answer')
}

/** The data of an answer, or why there is none. */
export async function fetchJson<T>(
  address: AdminAddress,
  path: string,
  question: AdminRequest & { readonly io: CommandIo },
): Promise<{ readonly data: T } | Failure> {
  const reply = await askAdmin(address, path, question)
  if ('code' in reply) return reply
  const refusal = refusalOf(reply)
  if (refusal !== undefined) return refusal
  try {
    return { data: JSON.parse(reply.text) as T }
  } catch {
    return { ...unreachable(address.url, new Error('the server there is no Windowpane')) }
  }
}

/** An answer that is none, as a failure with its remedy. */
export function refusalOf({ status, text }: AdminReply): Failure | undefined {
  if (status < 300) return undefined
  const said = oneLine(text.slice(0, 2000)).replace(/^windowpane: /, '')
  if (status === 401) {
    const remedy = 'Name its file with --token-file, or put the token into WINDOWPANE_ADMIN_TOKEN.'
    return { code: exitCode.unreachable, sentence: said, remedy }
  }
  if (status === 403 && /allowWrites/.test(said)) {
    const remedy =
      'Set admin.allowWrites: true (or start the proxy with --admin.allow-writes) and restart it.'
    return { code: exitCode.failed, sentence: said, remedy }
  }
  if (status === 400) return { code: exitCode.misused, sentence: said }
  if (status === 404) {
    const remedy = 'Is it another version of Windowpane, or another server?'
    return { code: exitCode.failed, sentence: said, remedy }
  }
  return { code: exitCode.failed, sentence: `the admin listener answered with status ${status}: ${said}` }
}
