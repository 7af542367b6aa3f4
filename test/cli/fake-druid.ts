/** The part of a Druid that the commands query: status, health, properties, a count by SQL, hours of a timeseries. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { bodyOf } from '../proxy/scripted-upstream.ts'

export interface FakeDruid {
  readonly url: string
  /** Bodies of its queries, oldest first. */
  readonly queries: string[]
  /** By path: the answer with status 200 instead. */
  readonly answers: Map<string, unknown>
}

const status = {
  version: '33.0.0',
  modules: [
    { name: 'a.B', artifact: 'druid-datasketches', version: '33.0.0' },
    { name: 'a.C', artifact: 'druid-datasketches', version: '33.0.0' },
  ],
  memory: { maxMemory: 2 ** 30, usedMemory: 2 ** 29 },
}

const zones = { winter: '2026-01-01T00:00:00.000Z', summer: '2026-07-01T00:00:00.000Z' }

const usual: Readonly<Record<string, unknown>> = {
  '/status': status,
  '/status/health': true,
  '/status/properties': { 'druid.service': 'druid/broker', 'druid.server.http.defaultQueryTimeout': '60000' },
  '/druid/v2/sql': [{ n: 3, ...zones }],
}

export async function startFakeDruid(t: TestContext): Promise<FakeDruid> {
  const server = createServer((request, response) => void answer(fake, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const fake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    queries: [] as string[],
    answers: new Map(Object.entries(usual)),
  }
  return fake
}

async function answer(fake: FakeDruid, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url!
  const body = (await bodyOf(request)).toString()
  if (request.method === 'POST') fake.queries.push(body)
  const isNative = path === '/druid/v2' && !fake.answers.has(path)
  const value = isNative ? hoursOf(body) : fake.answers.get(path)
  response.setHeader('Content-Type', 'application/json')
  if (isNative) response.setHeader('X-Druid-Response-Context', '{}')
  response.statusCode = value === undefined ? 404 : 200
  response.end(value === undefined ? '' : JSON.stringify(value))
}

const hour = 3_600_000

/** A row for each hour of the intervals, whatever the query. */
function hoursOf(body: string): object[] {
  const { intervals } = JSON.parse(body) as { intervals: readonly string[] }
  return intervals.flatMap((interval) => {
    const [from, to] = interval.split('/').map((text) => Date.parse(text))
    return Array.from({ length: (to! - from!) / hour }, (_, i) => {
      return { timestamp: new Date(from! + i * hour).toISOString(), result: { n: i } }
    })
  })
}
