/** `windowpane status`: the state of a running proxy, in a few lines. */
import { adminFlags, findAdmin, nodeFlag, parametersOf } from './admin-client.ts'
import { type Command, type CommandIo, expectNoMore, type Given, json } from './command.ts'
import { exitCode } from './exit-codes.ts'
import {
  type BackendStatus,
  fetchStatus,
  type ProxyStatus,
  type StoreStatus,
  type UpstreamStatus,
} from './proxy-identity.ts'
import { bytesText, counted, oneLine, painter, secondsText, type TextStyle } from './text.ts'

const words = {
  name: 'status',
  summary: 'show backends, stores and memory of a running proxy',
  synopsis: '[options]',
  examples: ['windowpane status', 'windowpane status --json'],
  about: `Reads /-/status of the admin listener. A backend without a healthy upstream or a store
that is not in use is marked with "!".`,
  flags: [nodeFlag, ...adminFlags],
  exits: [exitCode.failed, exitCode.unreachable],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  expectNoMore(given.positionals)
  const admin = await findAdmin(given, io)
  const status = await fetchStatus(admin, parametersOf(given, ['node']))
  io.out(given.has('json') ? json(status) : `${statusLines(status, io).join('\n')}\n`)
  return exitCode.ok
}

function statusLines(status: ProxyStatus, style: TextStyle): string[] {
  const { memory, stores = [], backends = [] } = status
  const paint = painter(style)
  const line = (isGood: boolean, text: string) =>
    isGood ? `  ${oneLine(text)}` : paint(`! ${oneLine(text)}`, 'red')
  return [
    oneLine(headLine(status)),
    ...configurationLines(status).map(({ isGood, text }) => line(isGood, text)),
    'backends',
    ...backends.flatMap((backend) => backendLines(backend, line)),
    'stores',
    ...stores.map((store) => line(store.state === 'ok', storeText(store))),
    ...(memory === undefined
      ? []
      : [`memory  ${bytesText(memory.used)} of ${bytesText(memory.limit)} in use`]),
  ]
}

function headLine({ version, pid, uptimeSeconds }: ProxyStatus): string {
  const up = uptimeSeconds === undefined ? '' : `, running for ${secondsText(uptimeSeconds)}`
  return `Windowpane ${version}${pid === undefined ? '' : `, pid ${pid}`}${up}`
}

function configurationLines({ configuration: config }: ProxyStatus) {
  if (config?.source === undefined) return []
  const since = config.inForceSince === undefined ? '' : `, in force since ${config.inForceSince}`
  const { lastReload } = config
  return [
    { isGood: true, text: `configuration ${config.source}${since}` },
    ...(lastReload === undefined || lastReload.ok
      ? []
      : [{ isGood: false, text: `last reload, at ${lastReload.at}, was rejected: ${lastReload.message}` }]),
  ]
}

function backendLines(
  { name, url, mode, flavour, requests, flights, upstreams }: BackendStatus,
  line: (isGood: boolean, text: string) => string,
): string[] {
  const isUp = upstreams.some(({ healthy }) => healthy)
  const work = `${counted(requests, 'request')} and ${counted(flights, 'flight')} in progress`
  return [
    line(isUp, `${name}: ${flavour.label}, mode ${mode}, at ${url}; ${work}`),
    ...upstreams.map((each) =>
      line(each.healthy, `upstream of ${name}: ${each.url}${each.healthy ? '' : troubleOf(each)}`),
    ),
  ]
}

const troubleOf = ({ failures, lastError = 'no response' }: UpstreamStatus): string =>
  ` is unhealthy after ${counted(failures, 'failure')}: ${lastError}`

const storeText = ({ name, engine, state, detail, entries }: StoreStatus): string => {
  const held = entries === undefined ? '' : `, ${counted(entries, 'key')}`
  const label = engine === name ? name : `${name} (${engine})`
  return state === 'ok' ? `${label}: ok${held}` : `${label}: ${state}${held}: ${detail}`
}

export const status: Command = { words, run }
