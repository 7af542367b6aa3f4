/**
 * A database whose cells change while data arrives, for the cell backend on a fake clock. A value names its shape and
 * cell, and its decimals are the amount of data that had arrived when it was read. So an answer shows by itself whether
 * it belongs to another shape, mixes cells, or is older than the TTL permits.
 */
import type { WireRequest } from '../../src/backends/backend.ts'
import type { Clock, EpochMs } from '../../src/core/clock.ts'
import { hashOf } from '../../src/core/hash.ts'
import type { ResponseHandler, Upstream, UpstreamCall } from '../../src/engine/ports.ts'
import { replyAfter } from './fake-reply.ts'

export interface VersionedDatabaseOptions {
  readonly clock: Clock
  readonly stepMs: number
  /** How long a query takes. */
  readonly serviceMs: () => number
}

export interface Judged {
  readonly question: string
  readonly from: EpochMs
  readonly to: EpochMs
  readonly askedAt: EpochMs
  /** The TTL of a cell for as long as data arrives. */
  readonly ttlMs: number
}

/** Data arrives until this long after the end of a cell. It is less than the age from which TTLs exceed their floor. */
const lateMs = 30_000

export class VersionedDatabase implements Upstream {
  readonly preferredEncoding = 'identity'
  queries = 0
  cells = 0
  readonly #options: VersionedDatabaseOptions
  readonly #settled = new Map<string, string>()

  constructor(options: VersionedDatabaseOptions) {
    this.#options = options
  }

  send({ search }: WireRequest, _accept: string, handler: ResponseHandler): UpstreamCall {
    const { clock, stepMs, serviceMs } = this.#options
    const parameters = new URLSearchParams(search)
    const [from, to] = [Number(parameters.get('from')), Number(parameters.get('to'))]
    this.queries++
    this.cells += (to - from) / stepMs
    const question = parameters.get('q') ?? ''
    return replyAfter({ clock, lagMs: serviceMs() }, handler, () => ({
      ...{ status: 200, body: this.#answer(question, from, to) },
    }))
  }

  /** Whether an answer that is given now is one that the database gave at an instant that the TTL permits. */
  isRight(text: string, { question, from, to, askedAt, ttlMs }: Judged): boolean {
    const { stepMs, clock } = this.#options
    const changing = Math.floor((askedAt - ttlMs - lateMs) / stepMs) * stepMs
    const settled = this.#settledText(question, from, changing)
    if (!text.startsWith(settled) || !text.endsWith(']}')) return false
    const rows = text.slice(settled.length, -2).split(/,(?=\[)/)
    if (rows.length !== (to - changing) / stepMs) return false
    return rows.every((row, i) => {
      const start = changing + i * stepMs
      const [, name, version] = /^\[(\d+,\d+)\.(\d+)\]$/.exec(row) ?? []
      const [oldest, newest] = [
        versionAt(start, stepMs, askedAt - ttlMs),
        versionAt(start, stepMs, clock.now()),
      ]
      return name === `${start},${nameOf(question, start)}` && +version! >= oldest && +version! <= newest
    })
  }

  #answer(question: string, from: EpochMs, to: EpochMs): string {
    const rows: string[] = []
    for (let start = from; start < to; start += this.#options.stepMs) {
      rows.push(this.#row(question, start, this.#options.clock.now()))
    }
    return `{"rows":[${rows.join(',')}]}`
  }

  /** How an answer begins whose cells up to `to` do not change any more. */
  #settledText(question: string, from: EpochMs, to: EpochMs): string {
    const id = `${question} ${from} ${to}`
    let text = this.#settled.get(id)
    if (text === undefined) {
      text = '{"rows":['
      for (let start = from; start < to; start += this.#options.stepMs) {
        text += `${this.#row(question, start, Number.POSITIVE_INFINITY)},`
      }
      if (this.#settled.size > 10_000) this.#settled.clear()
      this.#settled.set(id, text)
    }
    return text
  }

  #row(question: string, start: EpochMs, at: EpochMs): string {
    return `[${start},${nameOf(question, start)}.${versionAt(start, this.#options.stepMs, at)}]`
  }
}

/** Seconds of data that a cell has at an instant. */
const versionAt = (start: EpochMs, stepMs: number, at: EpochMs): number =>
  Math.floor(Math.max(0, Math.min(at - start, stepMs + lateMs)) / 1000)

const nameOf = (question: string, start: EpochMs): number => hashOf(`${start} ${question}`)
