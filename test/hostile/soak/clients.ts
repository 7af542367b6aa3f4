/** The clients of the soak: they send requests on several connections at once, and every response is judged. */
import { Pool } from 'undici'
import type { Clock } from '../../../src/core/clock.ts'
import { judge, type Received, type Verdict } from './checker.ts'
import type { SoakRequest, Traffic } from './traffic.ts'

export type Kind = Verdict['kind'] | 'left'

export interface Tally {
  readonly counts: Record<Kind, number>
  /** The first wrong ones, each with its request. */
  readonly wrongs: string[]
}

export interface LoadOptions {
  readonly url: string
  readonly traffic: Traffic
  readonly requests: number
  readonly clock: Clock
  onProgress(done: number): void
}

const connections = 32
const maxShown = 20
const leaveAfterMs = 2

export async function load(options: LoadOptions): Promise<Tally> {
  const { url, traffic, requests, clock, onProgress } = options
  const pool = new Pool(url, { connections, pipelining: 1 })
  const tally: Tally = {
    counts: { hit: 0, other: 0, stale: 0, failed: 0, cut: 0, left: 0, wrong: 0 },
    wrongs: [],
  }
  let begun = 0
  const client = async (): Promise<void> => {
    while (begun < requests) {
      onProgress(begun++)
      const request = traffic.next()
      count(tally, request, await ask(pool, request, clock))
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  await pool.close()
  return tally
}

type Asked = Received | 'left' | { readonly error: string }

function count({ counts, wrongs }: Tally, request: SoakRequest, asked: Asked): void {
  if (asked === 'left') {
    counts.left++
    return
  }
  const verdict: Verdict =
    'error' in asked ? { kind: 'wrong', why: `no response: ${asked.error}` } : judge(request, asked)
  counts[verdict.kind]++
  if (verdict.kind !== 'wrong' || wrongs.length >= maxShown) return
  wrongs.push(`${verdict.why}: ${request.method} ${request.path} ${request.body ?? ''}`)
}

async function ask(pool: Pool, request: SoakRequest, clock: Clock): Promise<Asked> {
  const { method, path, headers, body, leaves } = request
  const controller = leaves ? new AbortController() : undefined
  const timer = controller && clock.after(leaveAfterMs * clock.random(), () => controller.abort())
  const signal = controller && { signal: controller.signal }
  try {
    const response = await pool.request({ method, path, headers, body, ...signal })
    const { statusCode: status, headers: received } = response
    return { status, headers: received, ...(await bodyOf(response.body)) }
  } catch (error) {
    return controller?.signal.aborted ? 'left' : { error: String(error) }
  } finally {
    timer?.cancel()
  }
}

/** As much of the body as came. */
async function bodyOf(stream: AsyncIterable<Buffer>): Promise<{ body: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = []
  let isCut = false
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch {
    isCut = true
  }
  return { body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), isCut }
}
