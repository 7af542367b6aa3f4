/** The text of `windowpane status`. */
import type { CommandIo } from './command.ts'
import type { BackendStatus, ProxyStatus, StoreStatus, UpstreamStatus } from './proxy-identity.ts'
import { bytesText, counted, oneLine, painter, secondsText } from './text.ts'

export function statusLines(status: ProxyStatus, io: Pick<CommandIo, 'terminal'>): string[] {
  const { memory, stores = [], backends = [] } = status
  const paint = painter(io)
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
