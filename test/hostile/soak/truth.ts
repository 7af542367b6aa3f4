/**
 * The data of the soak. Every point follows from the query, the series and the time, so that the checker can compute
 * the response to any request itself. The query names the number of series: `soak_20_q7` has 20. A series is absent in
 * some hours, so that responses begin, end and are empty at different places.
 */
import { mixSeeds } from '../../../src/testing/random.ts'

/** In seconds; both ends are included. */
export interface Window {
  readonly start: number
  readonly end: number
  readonly step: number
}

export interface Response {
  readonly status: number
  readonly body: Buffer
}

/** Responses are computed for the database and again for each check: the recent ones are kept. */
const recent = new Map<string, Response>()
const maxRecentBytes = 32 * 2 ** 20
let recentBytes = 0

export function responseTo(query: string, window: Window): Response {
  const name = `${query} ${window.start} ${window.end} ${window.step}`
  const known = recent.get(name)
  if (known !== undefined) return known
  const response = makeResponse(query, window)
  recentBytes += response.body.length
  if (recentBytes > maxRecentBytes) {
    recent.clear()
    recentBytes = response.body.length
  }
  recent.set(name, response)
  return response
}

/** The responses that are forwarded unchanged. */
export const metadataFor = (search: string): Response => ({
  status: 200,
  body: Buffer.from(`{"status":"success","data":[${JSON.stringify(search)}]}`),
})

function makeResponse(query: string, window: Window): Response {
  const series = Number(/^soak_(\d+)_/.exec(query)?.[1])
  if (!(series >= 0)) {
    const error = { status: 'error', errorType: 'execution', error: `no such data: ${query}` }
    return { status: 422, body: Buffer.from(JSON.stringify(error)) }
  }
  const seed = mixSeeds(...Buffer.from(query))
  const all: string[] = []
  for (let column = 0; column < series; column++) {
    const points = pointsOf(mixSeeds(seed, column), window)
    if (points === '') continue
    const instance = `host-${String(column).padStart(4, '0')}`
    all.push(`{"metric":{"__name__":"soak","instance":"${instance}","of":"${query}"},"values":[${points}]}`)
  }
  const body = `{"status":"success","data":{"resultType":"matrix","result":[${all.join(',')}]}}`
  return { status: 200, body: Buffer.from(body) }
}

const hour = 3600
/** One hour of so many is without data. */
const absentEvery = 9

function pointsOf(seed: number, { start, end, step }: Window): string {
  let text = ''
  let isAbsent = false
  let checked = Number.NaN
  for (let at = start; at <= end; at += step) {
    const block = Math.floor(at / hour)
    if (block !== checked) {
      checked = block
      isAbsent = mixed(seed, block) % absentEvery === 0
    }
    if (isAbsent) continue
    text += `${text === '' ? '' : ','}[${at},"${mixed(seed, at) / 1000}"]`
  }
  return text
}

/** Cheaper than mixSeeds: there are thousands of points in a response. */
function mixed(seed: number, at: number): number {
  let hash = Math.imul(seed ^ at, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
