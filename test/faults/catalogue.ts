/** Faults of a database's answer, and the permitted answers to a viewer. */
import { gzipSync } from 'node:zlib'
import { matrixOf, type Range } from '../coalescing/matrix.ts'
import type { Asked } from '../coalescing/upstream.ts'

/** `as said`: the database's own words, unchanged. `broken off`: visibly incomplete. */
export type Verdict = 'right' | 'stale' | 'as said' | 'broken off' | 'error 502' | 'error 504'

export interface Fault {
  readonly name: string
  script(asked: Asked): void
  /** The database's complete response in place of a matrix. */
  said?(range: Range): { readonly status: number; readonly body: string }
  /** The answer to the request that fetched all of it, and to the requests that waited with it. */
  readonly leader: Verdict
  readonly waiter: Verdict
  /** Where some is stored: the rest is recent, so that stored buckets may be served stale; or it is old. */
  readonly recent: Verdict
  readonly old: Verdict
  /** How long after the question the viewer must be answered. */
  readonly stalls?: true
}

const headers = { 'content-type': 'application/json' }

function saying(
  name: string,
  status: number,
  bodyOf: (range: Range) => string,
  type = 'application/json',
): Fault {
  const isServerError = status >= 500
  return {
    name,
    script: ({ response, range }) =>
      void response.writeHead(status, { 'content-type': type }).end(bodyOf(range)),
    said: (range) => ({ status, body: bodyOf(range) }),
    leader: 'as said',
    waiter: 'as said',
    recent: isServerError ? 'stale' : 'as said',
    old: 'as said',
  }
}

const breaking = (name: string, script: Fault['script'], leader: Verdict = 'broken off'): Fault => ({
  name,
  script,
  leader,
  waiter: 'error 502',
  recent: 'stale',
  old: 'error 502',
})

const half = (range: Range): string => matrixOf(range).slice(0, matrixOf(range).length / 2)

const errorBody = '{"status":"error","errorType":"internal","error":"it went wrong"}'

/** Points moved off the grid, series the other way round, and so on: a matrix, but not this one. */
const altered = (change: (body: string) => string) => (range: Range) => change(matrixOf(range))

export const faults: readonly Fault[] = [
  saying('500 with JSON', 500, () => errorBody),
  saying('503 with HTML', 503, () => '<html>no healthy upstream</html>', 'text/html'),
  saying('400', 400, () => errorBody),
  saying('422', 422, () => errorBody),
  saying('429', 429, () => 'slow down', 'text/plain'),
  saying('200 with an error in it', 200, () => errorBody),
  saying('200 with a login page', 200, () => '<html>who are you?</html>', 'text/html'),
  saying('200 with nothing', 200, () => ''),
  saying('truncated JSON in the right frame', 200, half),
  saying('a vector', 200, () => '{"status":"success","data":{"resultType":"vector","result":[]}}'),
  saying('a null result', 200, () => '{"status":"success","data":{"resultType":"matrix","result":null}}'),
  saying(
    'points off the grid',
    200,
    altered((body) => body.replace(/\[(\d+),/, '[$1.5,')),
  ),
  saying(
    'a point beyond the end',
    200,
    altered((body) => body.replace(/\[\d+(,"[^"]*"\]\]\})/, '[9999999999$1')),
  ),
  saying(
    'points twice',
    200,
    altered((body) => body.replace(/(\[\d+,"[^"]*"\]),/, '$1,$1,')),
  ),
  saying(
    'series not in order',
    200,
    altered((body) => body.replace('"host":"a"', '"host":"z"')),
  ),
  saying(
    'a series twice',
    200,
    altered((body) => body.replace('"host":"b"', '"host":"a"')),
  ),
  saying(
    'an unknown field behind the result',
    200,
    altered((body) => body.replace(/\}\}$/, '},"partial":true}')),
  ),
  saying(
    'bytes behind the end',
    200,
    altered((body) => `${body}{"status":"error"}`),
  ),
  {
    ...saying(
      'a content length that is too short',
      200,
      altered((body) => body.slice(0, -10)),
    ),
    script({ response, range }) {
      const body = matrixOf(range)
      response.writeHead(200, { ...headers, 'content-length': body.length - 10 }).end(body)
    },
  },
  breaking('reset before the head', ({ request }) => void request.socket.resetAndDestroy(), 'error 502'),
  breaking('closed before the head', ({ request }) => void request.socket.destroy(), 'error 502'),
  breaking('not HTTP', ({ request }) => void request.socket.end('who is there?\r\n\r\n'), 'error 502'),
  breaking('reset in the middle of the body', ({ response, range }) => {
    response.writeHead(200, headers)
    response.write(half(range), () => response.socket!.resetAndDestroy())
  }),
  breaking('closed in the middle of the body', ({ response, range }) => {
    response.writeHead(200, headers)
    response.write(half(range), () => response.socket!.end())
  }),
  breaking('closed before the last chunk', ({ response, range }) => {
    response.writeHead(200, headers)
    response.write(matrixOf(range), () => response.socket!.end())
  }),
  breaking('a content length that is too long', ({ response, range }) => {
    const body = matrixOf(range)
    response.writeHead(200, { ...headers, 'content-length': body.length + 10 })
    response.write(body, () => response.socket!.end())
  }),
  breaking(
    'garbage for gzip',
    ({ response, range }) =>
      void response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(matrixOf(range)),
    'error 502',
  ),
  breaking(
    'gzip that ends early, in the right frame',
    ({ response, range }) => {
      const packed = gzipSync(matrixOf(range))
      response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(packed.subarray(0, -20))
    },
    'error 502',
  ),
  {
    name: 'a stall before the head',
    script: () => {},
    stalls: true,
    ...{ leader: 'error 504', waiter: 'error 504', recent: 'stale', old: 'error 504' },
  },
  {
    name: 'a stall in the middle of the body',
    script({ response, range }) {
      response.writeHead(200, headers)
      response.write(half(range))
    },
    stalls: true,
    ...{ leader: 'broken off', waiter: 'error 504', recent: 'stale', old: 'error 504' },
  },
]
