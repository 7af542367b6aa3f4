/**
 * Which answers of Prometheus' API are cached as a whole: label lists, series, metadata, rules, exemplars, instant queries. Only
 * reads whose answer depends on nothing but the data and the parameters; everything else is forwarded.
 */
import { bufferOf } from '../../core/bytes.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { WireRequest } from '../backend.ts'
import type { WholeAnswers, WholePlan } from '../whole-answers.ts'
import { firstValue, type Pairs, readForm, valuesByName } from './form.ts'
import { type IsQuestionHeader, questionHeaders } from './question-headers.ts'
import { endOfValue } from './scan.ts'
import { parseTime } from './time.ts'
import { endpoints } from './whole-endpoints.ts'
import type { Wire } from './wire.ts'

type Endpoint = keyof typeof endpoints

/** A series can also be deleted under its path, and the state of the process (`runtimeinfo`) is another for each request. */
const paths: ReadonlyMap<string, { readonly endpoint: Endpoint; readonly takesForms: boolean }> = new Map([
  ['/api/v1/query', { endpoint: 'instant', takesForms: true }],
  ['/api/v1/labels', { endpoint: 'labels', takesForms: true }],
  ['/api/v1/series', { endpoint: 'series', takesForms: true }],
  ['/api/v1/query_exemplars', { endpoint: 'exemplars', takesForms: true }],
  ['/api/v1/metadata', { endpoint: 'metadata', takesForms: false }],
  ['/api/v1/rules', { endpoint: 'rules', takesForms: false }],
  ['/api/v1/alerts', { endpoint: 'rules', takesForms: false }],
  ['/api/v1/status/buildinfo', { endpoint: 'status', takesForms: false }],
  ['/api/v1/status/flags', { endpoint: 'status', takesForms: false }],
])

const labelValues = /^\/api\/v1\/label\/[^/]+\/values$/

function endpointOf(method: string, path: string): Endpoint | undefined {
  if (method !== 'GET' && method !== 'POST') return undefined
  const found = paths.get(path)
  if (found !== undefined) return method === 'GET' || found.takesForms ? found.endpoint : undefined
  return method === 'GET' && labelValues.test(path) ? 'labels' : undefined
}

/** Longer ones are unlike any query of a dashboard. */
const longestForm = 64 * 1024

export interface WholeEndpointRules {
  /** Parameters that add execution data to an answer (`stats`, `trace`) or whose meaning is unknown here. */
  readonly refused: readonly string[]
  /** Which request headers, in lower case, are part of the shape; none by default. */
  readonly isQuestionHeader?: IsQuestionHeader | undefined
  readonly isPartial?: Wire['isPartial'] | undefined
}

export function wholeAnswers({
  refused,
  isQuestionHeader = () => false,
  isPartial = () => false,
}: WholeEndpointRules): WholeAnswers {
  return {
    endpoints,
    claims: (method, path) => endpointOf(method, path) !== undefined,
    plan(request, now) {
      const endpoint = endpointOf(request.method, request.path)
      if (endpoint === undefined || request.search.length + request.body.length > longestForm)
        return undefined
      const pairs = readForm(request)
      if ('bypass' in pairs || refused.some((name) => firstValue(pairs, name) !== undefined)) return undefined
      const read = {
        path: request.path,
        pairs,
        headers: questionHeaders(request.headers, isQuestionHeader),
      }
      if (endpoint === 'instant') return instantPlan(request, read, now)
      const moving = movingOf(read)
      return { ...planOf(request, endpoint, read), ...(moving && { moving }) }
    },
    isComplete: (body, _plan, { headers }) => isCompleteBody(body) && !isPartial(headers),
  }
}

interface ReadRequest {
  readonly path: string
  readonly pairs: Pairs
  readonly headers: readonly (readonly [name: string, value: string])[]
}

function planOf(request: WireRequest, endpoint: Endpoint, read: ReadRequest): WholePlan {
  const text = textOf(read)
  return { endpoint, text, sources: [], knowsAllSources: false, request }
}

/** Grafana rounds the bounds of lists to minutes, and those of exemplars to the step: both move with the clock. */
function movingOf(read: ReadRequest): WholePlan['moving'] {
  const { pairs } = read
  const [start, end] = [firstValue(pairs, 'start'), firstValue(pairs, 'end')]
  const from = start === undefined ? undefined : parseTime(start)?.ms
  const to = end === undefined ? undefined : parseTime(end)?.ms
  if (from === undefined || to === undefined) return undefined
  return { text: textOf(without(read, ['start', 'end'])), from, to }
}

const without = (read: ReadRequest, names: readonly string[]): ReadRequest => ({
  ...read,
  pairs: read.pairs.filter((_, i) => !names.includes(read.pairs[i - (i % 2)]!)),
})

/** Databases read short numbers as other times than seconds since 1970. */
const earliest = 100_000_000_000

/** Without a `time`, the server takes its own. */
function instantPlan(request: WireRequest, read: ReadRequest, now: EpochMs): WholePlan | undefined {
  const { pairs } = read
  const time = firstValue(pairs, 'time')
  const at = time === undefined ? now : parseTime(time)?.ms
  const query = firstValue(pairs, 'query')
  if (at === undefined || at < earliest || query === undefined) return undefined
  return { ...planOf(request, 'instant', without(read, ['time'])), query, at }
}

/**
 * JSON of the path and of every parameter with its values: the order of `match[]` can show in the order of series. Headers
 * follow as an object.
 */
function textOf({ path, pairs, headers }: ReadRequest): string {
  const asked = headers.length === 0 ? [] : [Object.fromEntries(headers)]
  return JSON.stringify([path, ...valuesByName(pairs), ...asked])
}

const success = Buffer.from('{"status":"success"')
const warnings = Buffer.from('"warnings":[')
/** The warning that `limit` adds each time. */
const truncated = Buffer.from('"warnings":["results truncated due to limit"]')
const partial = Buffer.from('"isPartial":true')

/**
 * Warnings may mean that a part of the data could not be read; infos never do. Quotes in names and values are escaped, so that
 * the searched bytes can only be members. Where the length of a response is not given, it may end anywhere.
 */
function isCompleteBody(body: Uint8Array): boolean {
  const bytes = bufferOf(body)
  if (!bytes.subarray(0, success.length).equals(success) || bytes.includes(partial)) return false
  const at = bytes.indexOf(warnings)
  if (at >= 0 && !bytes.subarray(at, at + truncated.length).equals(truncated)) return false
  const end = endOfValue(bytes, 0)
  return end > 0 && /^[ \t\r\n]*$/.test(bytes.toString('latin1', end))
}
