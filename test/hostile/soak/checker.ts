/** Compares a client's answer with the expected answer of the database. */
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { SoakRequest } from './traffic.ts'

export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** Whether the connection was cut off before the end of the body. */
  readonly isCut: boolean
}

/** `wrong` names the mistake. */
export type Verdict =
  | { readonly kind: 'hit' | 'other' | 'stale' | 'failed' | 'cut' }
  | { readonly kind: 'wrong'; readonly why: string }

const wrong = (why: string): Verdict => ({ kind: 'wrong', why })

export function judge(request: SoakRequest, received: Received): Verdict {
  const { status, headers, body, isCut } = received
  const cacheStatus = String(headers['cache-status'] ?? '')
  const outcome = /detail="(\w+)/.exec(cacheStatus)?.[1]
  if (isCut) return judgeCut(request, received)
  if (status === 502 || status === 504) return judgeFailure(received)
  const decoded = decode(body, headers['content-encoding'])
  if (decoded === undefined) return wrong('the body cannot be decompressed')
  if (outcome === 'stale') return judgeStale(request, status, decoded)
  const truth = request.truth()
  if (status !== truth.status) return wrong(`status ${status} instead of ${truth.status}`)
  if (!decoded.equals(truth.body)) return wrong(`another body (${cacheStatus})`)
  return { kind: outcome === 'hit' ? 'hit' : 'other' }
}

/** A forwarded response may be truncated where the database's was: the client has the beginning of the truth. */
function judgeCut(request: SoakRequest, { headers, body }: Received): Verdict {
  const isPlain = headers['content-encoding'] === undefined
  const truth = request.truth().body
  if (isPlain && !truth.subarray(0, body.length).equals(body))
    return wrong('a wrong beginning before the cut')
  return { kind: 'cut' }
}

/** Only in the error format of the database's API. */
function judgeFailure({ status, headers, body }: Received): Verdict {
  if (!/^application\/json/.test(String(headers['content-type']))) return wrong(`${status} that is not JSON`)
  const error = parsed(body) as { status?: unknown; errorType?: unknown; error?: unknown } | undefined
  const isError = error?.status === 'error' && typeof error.errorType === 'string'
  if (!isError || typeof error.error !== 'string') return wrong(`${status} that is not an error of the API`)
  return { kind: 'failed' }
}

interface Matrix {
  warnings?: readonly string[]
  readonly data?: {
    readonly result?: readonly { readonly values?: readonly (readonly [number, string])[] }[]
  }
}

/** A stale answer is marked in its warnings, and may end early. */
function judgeStale(request: SoakRequest, status: number, body: Buffer): Verdict {
  const answer = parsed(body) as Matrix | undefined
  if (status !== 200 || answer === undefined) return wrong(`a stale answer with status ${status}`)
  const { warnings, ...rest } = answer
  if (warnings === undefined) return wrong('a stale answer without a warning')
  const times = (answer.data?.result ?? []).flatMap(({ values }) => values?.at(-1)?.[0] ?? [])
  const truth = request.truthUntil(Math.max(0, ...times)).body
  return truth.equals(Buffer.from(JSON.stringify(rest))) ? { kind: 'stale' } : wrong('a stale answer, wrong')
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

function decode(body: Buffer, encoding: string | string[] | undefined): Buffer | undefined {
  try {
    if (encoding === undefined) return body
    return encoding === 'gzip' ? gunzipSync(body) : encoding === 'zstd' ? zstdDecompressSync(body) : undefined
  } catch {
    return undefined
  }
}
