/** The pages of the admin listener, by path. */
import { mergeShapes } from '../fleet/merge.ts'
import type { AdminDatabase, AdminOptions } from './admin.ts'
import { type AdminAnswer, failure, json, jsonList, mistake, text } from './answer.ts'
import { readExplained } from './explain.ts'
import { explanationText } from './explain-text.ts'
import { chooseNodes, viewOfFleet } from './fleet.ts'
import { limitPages } from './limits.ts'
import type { LiveRequests } from './live.ts'
import { type AdminCall, change, get, type Page, type Pages, post } from './page.ts'
import { purgePages } from './purge.ts'
import { unknownBackend } from './selection.ts'
import { shadowPages } from './shadow.ts'
import { ttlPages } from './ttl.ts'
import { readListQuery, viewOfExplanation, viewOfRecord, viewOfShape } from './views.ts'

export function pagesOf(options: AdminOptions, live: LiveRequests): ReadonlyMap<string, Page> {
  const pages: Pages = {
    '/-/healthy': { ...get('the process runs', () => text(200, 'healthy')), isOpen: true },
    '/-/ready': { ...get('it can answer queries', () => readiness(options)), isOpen: true },
    '/-/status': get(
      'databases, stores, memory, flights, and the nodes that share a store; ?node= one of them',
      ({ parameters }) => status(options, parameters),
    ),
    '/metrics': get('metrics for Prometheus', () => metrics(options)),
    '/-/metrics': get('the same, below the path of the other pages', () => metrics(options)),
    '/-/config': get(
      'the configuration in force, without secrets; ?mode=diff: only values that differ from the defaults',
      ({ parameters }) => config(options, parameters),
    ),
    '/-/shapes': get(
      'the most requested shapes, of all nodes that share a store; ?limit= &node=',
      ({ parameters }) => shapes(options, parameters),
    ),
    '/-/requests': get(
      'the last requests; ?outcome= &reason= &shape= &backend= &minMs= &limit= &after=; Accept: text/event-stream for live ones',
      (call) => requests(options, live, call),
    ),
    '/-/explain': post(
      'explains the decision about a query (the body, or a whole request as JSON); ?run=1 also runs it; ?backend= &path= &format=text',
      (call) => explain(options, call),
    ),
    '/-/reload': change('reads the configuration again', () => reload(options)),
    ...purgePages(options),
    ...shadowPages(options),
    ...ttlPages(options),
    ...limitPages(options),
  }
  const index = get('', () => text(200, indexOf(options.version, pages)))
  return new Map(Object.entries({ ...pages, '/': index, '/-/': index }))
}

function indexOf(version: string, pages: Pages): string {
  const lines = Object.entries(pages)
    .filter(([, page]) => page.about !== '')
    .map(([path, { methods, about }]) => `${methods[0]!.padEnd(5)}${path.padEnd(14)}${about}`)
  return `windowpane ${version}\n\n${lines.join('\n')}`
}

function readiness({ unready }: AdminOptions): AdminAnswer {
  const missing = unready()
  return missing.length === 0 ? text(200, 'ready') : text(503, `not ready: ${missing.join('; ')}`)
}

async function reload(options: AdminOptions): Promise<AdminAnswer> {
  const { isOk, message } = await options.reload()
  return text(isOk ? 200 : 422, message)
}

async function status(options: AdminOptions, parameters: URLSearchParams): Promise<AdminAnswer> {
  const { version, clock, status: own, telemetry, fleet } = options
  const { recorder, shapes: top, log } = telemetry
  // Nodes that are missing are shown too, unless one is named.
  const seen = parameters.has('node') ? await chooseNodes(options, parameters) : await fleet?.view()
  if (seen !== undefined && 'mistake' in seen) return mistake(seen.mistake)
  return json({
    version,
    pid: process.pid,
    node: process.versions.node,
    now: new Date(clock.now()).toISOString(),
    uptimeSeconds: Math.floor(process.uptime()),
    ...own(),
    recorder: { records: recorder.count, bytes: recorder.bytes, subscribers: recorder.subscribers },
    shapes: top.size,
    logLinesDropped: log.dropped,
    ...(seen && viewOfFleet(seen)),
  })
}

const metrics = ({ telemetry }: AdminOptions): AdminAnswer => ({
  status: 200,
  type: 'text/plain; version=0.0.4; charset=utf-8',
  body: telemetry.metrics.render(),
})

function config(options: AdminOptions, parameters: URLSearchParams): AdminAnswer {
  const mode = parameters.get('mode') ?? 'effective'
  if (mode !== 'effective' && mode !== 'diff') return mistake('mode is effective or diff')
  return json(options.config(mode))
}

async function shapes(options: AdminOptions, parameters: URLSearchParams): Promise<AdminAnswer> {
  const limit = Number(parameters.get('limit') ?? 100)
  if (!Number.isInteger(limit) || limit < 0) return mistake('limit is a whole number of 0 or more')
  const chosen = await chooseNodes(options, parameters)
  if ('mistake' in chosen) return mistake(chosen.mistake)
  const { shapes: own } = options.telemetry
  const { nodes } = chosen
  if (nodes.every(({ isSelf }) => isSelf)) return jsonList(own.list(limit).map(viewOfShape))
  // Of other nodes only the most requested shapes are known.
  const perNode = nodes.map(({ isSelf, summary }) => (isSelf ? own.list(own.size) : (summary?.shapes ?? [])))
  return jsonList(mergeShapes(perNode, limit).map(viewOfShape))
}

function requests({ telemetry }: AdminOptions, live: LiveRequests, call: AdminCall): AdminAnswer | 'taken' {
  const query = readListQuery(call.parameters)
  if ('mistake' in query) return mistake(query.mistake)
  const { method, headers } = call.request
  if (method === 'HEAD' || !headers.accept?.includes('text/event-stream')) {
    return jsonList(telemetry.recorder.list(query.filter, query).map(viewOfRecord))
  }
  return live.open(call.request, call.response, query)
    ? 'taken'
    : { ...text(503, 'too many read along already'), headers: { 'Retry-After': '5' } }
}

async function explain(options: AdminOptions, call: AdminCall): Promise<AdminAnswer> {
  const { parameters, request, body } = call
  const database = databaseOf(options, parameters.get('backend'))
  if ('mistake' in database) return mistake(database.mistake)
  const given = parameters.get('path')
  const wire = readExplained(request, body, (text) => given ?? database.queryPath(text))
  if ('mistake' in wire) return mistake(wire.mistake)
  const explanation = await database.explain(wire)
  const isRun = parameters.get('run') === '1'
  // Anything else could change the database, from a listener that is read-only.
  if (isRun && explanation.reason === 'not_a_range_query') return mistake(onlyQueries)
  const run = isRun ? await database.run(wire).catch(asProblem) : undefined
  if (run !== undefined && 'problem' in run) return failure(502, `it could not be run: ${run.problem}`)
  if (parameters.get('format') === 'text') return text(200, explanationText(explanation, run))
  return json({ ...viewOfExplanation(explanation), ...(run && { run }) })
}

const asProblem = (error: unknown): { readonly problem: string } => ({ problem: (error as Error).message })

const onlyQueries = 'only queries over a time range are run; without run=1 this is explained'

function databaseOf(options: AdminOptions, name: string | null): AdminDatabase | { mistake: string } {
  const databases = options.databases()
  const found = name === null ? [...databases.values()][0] : databases.get(name)
  return found ?? { mistake: unknownBackend(name ?? '', [...databases.keys()]) }
}
