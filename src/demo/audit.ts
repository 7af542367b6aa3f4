/**
 * Compares an answer with the truth: which of its points were out of date, since when, and whether the policy allowed
 * it. Only a database whose past states can be queried makes this possible.
 */
import type { EpochMs } from '../core/clock.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { Visit } from './crowd.ts'
import type { DemoDatabase } from './database.ts'
import { printMatrix } from './print.ts'

export type Served = Pick<Visit, 'question' | 'body' | 'sentAt' | 'receivedAt'>

export interface AuditResult {
  readonly points: number
  readonly outdated: readonly OutdatedBucket[]
  /** Instants that were served although they were never true, or true too long ago for their TTL. */
  readonly violations: readonly string[]
}

export interface OutdatedBucket {
  readonly points: number
  /** Since when the answer was no longer true. */
  readonly ageMs: number
}

interface Answered {
  readonly data: {
    readonly result: readonly { metric: Record<string, string>; values: [number, string][] }[]
  }
}

/** Text of every series at one instant. */
type Instant = Map<string, string>

export class Auditor {
  readonly #database: DemoDatabase
  readonly #policy: TtlPolicy

  constructor(database: DemoDatabase, policy: TtlPolicy) {
    this.#database = database
    this.#policy = policy
  }

  judge(served: Served): AuditResult {
    const matrix = this.#database.truth(served.question, served.receivedAt)
    if (matrix === undefined) return { points: 0, outdated: [], violations: [] }
    const [said, truth] = [instantsOf(served.body), instantsOf(printMatrix(matrix))]
    const outdated: OutdatedBucket[] = []
    const violations: string[] = []
    let total = 0
    for (let at = served.question.start; at <= served.question.end; at += served.question.stepMs) {
      const { points, differing } = compare(said.get(at) ?? nothing, truth.get(at) ?? nothing)
      total += points
      if (differing === 0) continue
      const since = this.#outdatedSince(served, at, said.get(at) ?? nothing)
      outdated.push({ points: differing, ageMs: served.receivedAt - (since ?? served.receivedAt) })
      const problem = this.#problem(served, at, since)
      if (problem !== undefined) violations.push(problem)
    }
    return { points: total, outdated, violations }
  }

  /** The truth about an instant changes only when a sample arrives: go back until it equals the served value. */
  #outdatedSince(served: Served, at: EpochMs, said: Instant): EpochMs | undefined {
    const { query } = served.question
    const content = contentOf(said)
    const question = { query, start: at, end: at, stepMs: 1000 }
    for (const arrival of this.#database.changes(query, at, served.receivedAt)) {
      const before = instantsOf(printMatrix(this.#database.truth(question, arrival - 1)!))
      if (contentOf(before.get(at) ?? nothing) === content) return arrival
    }
    return undefined
  }

  /** A bucket was last true at f = since − 1: it may be served until f + ttl(f − its end). */
  #problem({ question, sentAt }: Served, at: EpochMs, since: EpochMs | undefined): string | undefined {
    const where = `${question.query} at ${new Date(at).toISOString()}`
    if (since === undefined) return `${where} was never true`
    const lastTrue = since - 1
    const lateMs = sentAt - lastTrue - this.#policy.ttl(lastTrue - at)
    return lateMs < 0 ? undefined : `${where} was served ${lateMs} ms beyond its TTL`
  }
}

const nothing: Instant = new Map()

function instantsOf(body: string): Map<EpochMs, Instant> {
  const { data } = JSON.parse(body) as Answered
  const instants = new Map<EpochMs, Instant>()
  for (const { metric, values } of data.result) {
    const name = JSON.stringify(metric)
    for (const [seconds, value] of values) {
      const at = Math.round(seconds * 1000)
      const instant = instants.get(at) ?? new Map<string, string>()
      instants.set(at, instant.set(name, value))
    }
  }
  return instants
}

/** Points of either side, and how many are not the same on both. */
function compare(said: Instant, truth: Instant): { points: number; differing: number } {
  let [points, differing] = [truth.size, 0]
  for (const [name, value] of truth) if (said.get(name) !== value) differing++
  for (const name of said.keys()) {
    if (truth.has(name)) continue
    points++
    differing++
  }
  return { points, differing }
}

/** Series come in the same order on both sides. */
const contentOf = (instant: Instant): string =>
  [...instant].map(([name, value]) => `${name}=${value}`).join(';')
