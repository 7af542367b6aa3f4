/** The database of the soak: it answers range queries by GET and POST with the computed truth, some of them compressed. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { prometheusBuildInfo } from '../../proxy/scripted-upstream.ts'
import { metadataFor, type Response, responseTo } from './truth.ts'

export interface SoakDatabase {
  readonly port: number
  /** Range queries so far. */
  readonly queries: number
  close(): Promise<void>
}

const buildInfo: Response = {
  status: 200,
  body: Buffer.from(JSON.stringify({ status: 'success', data: prometheusBuildInfo })),
}

export async function startSoakDatabase(): Promise<SoakDatabase> {
  let queries = 0
  const server = createServer((request, response) => {
    const [path = '', search = ''] = request.url!.split('?')
    if (path.endsWith('/buildinfo')) write(response, buildInfo, false)
    else if (path !== '/api/v1/query_range') write(response, metadataFor(search), false)
    else {
      queries++
      void answerQuery(request, response, search)
    }
  })
  // A machine that stalls for longer than this must not look like a database that fails.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get queries() {
      return queries
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answerQuery(
  request: IncomingMessage,
  response: ServerResponse,
  search: string,
): Promise<void> {
  try {
    const form = request.method === 'POST' ? await text(request) : search
    const given = new URLSearchParams(form)
    const [start, end, step] = ['start', 'end', 'step'].map((name) => Number(given.get(name)))
    const query = given.get('query') ?? ''
    const isCompressed = query.endsWith('7') && request.headers['accept-encoding']?.includes('gzip') === true
    write(response, responseTo(query, { start: start!, end: end!, step: step! }), isCompressed)
  } catch {
    // The relay cut the request off in the middle of its body.
    response.destroy()
  }
}

function write(response: ServerResponse, { status, body }: Response, isCompressed: boolean): void {
  const headers = { 'Content-Type': 'application/json', Vary: 'Accept-Encoding' }
  if (!isCompressed) response.writeHead(status, headers).end(body)
  else
    response.writeHead(status, { ...headers, 'Content-Encoding': 'gzip' }).end(gzipSync(body, { level: 1 }))
}
