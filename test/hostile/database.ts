/** The database of hostile tests: small matrices, one large one, and a large answer that is never stored. Its own process in the long form. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { matrixFor, matrixOf } from '../proxy/matrix.ts'
import { prometheusBuildInfo } from '../proxy/scripted-upstream.ts'
import { oldRange } from '../proxy/setup.ts'

export const largeQuery = 'large'
/** Long ago: cached for an hour. */
export const settled = oldRange(30, 60)

const large = matrixOf(largeQuery, { bytes: 6e6, at: settled.start, seriesBytes: 16 * 1024 })
/** More than the buffers of the system take. */
const forwarded = Buffer.alloc(40 * 2 ** 20, '# a line of metrics\n')

/** The database's answer to a range query. */
export const truth = (params: URLSearchParams): string | Buffer =>
  params.get('query') === largeQuery ? large : matrixFor(params, 1)

export const answer: RequestListener = async (request, response) => {
  const { pathname, searchParams } = new URL(request.url!, 'http://database')
  await taken(request)
  response.setHeader('Content-Type', 'application/json')
  if (pathname.endsWith('/buildinfo')) {
    response.end(JSON.stringify({ status: 'success', data: prometheusBuildInfo }))
  } else if (pathname === '/federate') response.end(forwarded)
  else if (pathname.endsWith('/query_range')) response.end(truth(searchParams))
  else response.end('{"status":"success","data":[]}')
}

/** Resolves when all of the body has come, or its sender is gone. */
const taken = (request: IncomingMessage): Promise<void> =>
  new Promise(
    (resolve) =>
      void request
        .on('error', () => {})
        .once('close', resolve)
        .resume(),
  )

if (process.argv[1] === import.meta.filename) {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
  })
}
