/** People who look at one dashboard: each loads it again and again, six queries at a time, as browsers do. */
import { Agent, request } from 'undici'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { bodiesOf, windowMs } from './charts.ts'

const refreshMs = 10_000
const atOnce = 6

export interface Looking {
  readonly url: string
  readonly viewers: number
  readonly forMs: number
  /** The end of a window that is requested now. */
  readonly endOf: (now: number) => number
}

export interface Seen {
  readonly queries: number
  readonly bytes: number
  /** Of each query, sorted. */
  readonly times: readonly number[]
  /** How many had each outcome, by the first word of Cache-Status' detail. */
  readonly outcomes: ReadonlyMap<string, number>
  /** Refreshes that came too late because the one before took longer than the time between two. */
  readonly skipped: number
}

interface Tally {
  queries: number
  bytes: number
  times: number[]
  outcomes: Map<string, number>
  skipped: number
}

export async function look({ url, viewers, forMs, endOf }: Looking): Promise<Seen> {
  const agent = new Agent({ connections: viewers * atOnce, pipelining: 1 })
  const tally: Tally = { queries: 0, bytes: 0, times: [], outcomes: new Map(), skipped: 0 }
  const random = seededRandom(7)
  const began = systemClock.elapsed()
  const ask = async (body: string): Promise<void> => {
    const sent = systemClock.elapsed()
    const answer = await request(`${url}/druid/v2`, {
      ...{ method: 'POST', body, dispatcher: agent },
      headers: { 'content-type': 'application/json' },
      ...{ headersTimeout: 120_000, bodyTimeout: 120_000 },
    })
    let bytes = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) bytes += chunk.length
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} for ${body}`)
    note(tally, { bytes, ms: systemClock.elapsed() - sent, status: String(answer.headers['cache-status']) })
  }
  const view = async (phase: number): Promise<void> => {
    for (let due = phase; due < forMs; ) {
      await until(began + due)
      const to = endOf(systemClock.now())
      await inTurns(bodiesOf(to - windowMs, to), ask)
      due += refreshMs
      for (; began + due < systemClock.elapsed() && due < forMs; due += refreshMs) tally.skipped++
    }
  }
  await Promise.all(Array.from({ length: viewers }, () => view(random() * refreshMs)))
  await agent.close()
  return { ...tally, times: tally.times.sort((a, b) => a - b) }
}

function note(tally: Tally, answer: { bytes: number; ms: number; status: string }): void {
  const { bytes, ms, status } = answer
  tally.queries++
  tally.bytes += bytes
  tally.times.push(ms)
  const outcome = /detail="(\w+)/.exec(status)?.[1] ?? 'direct'
  tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1)
}

const until = (elapsed: number): Promise<void> =>
  new Promise((resolve) => void systemClock.after(Math.max(0, elapsed - systemClock.elapsed()), resolve))

/** All of them, so many at a time. */
async function inTurns(bodies: readonly string[], ask: (body: string) => Promise<void>): Promise<void> {
  let next = 0
  const turn = async (): Promise<void> => {
    while (next < bodies.length) await ask(bodies[next++]!)
  }
  await Promise.all(Array.from({ length: atOnce }, turn))
}

export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
