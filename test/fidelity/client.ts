/** A keep-alive client for one server, and how to read an answer's outcome. */
import { Pool } from 'undici'
import { type Outcome, outcomes } from '../../src/core/decision.ts'
import { type Ask, encode } from './spelling.ts'

export interface Answer {
  readonly status: number
  /** Lower-case names; repeated headers joined by a comma, as HTTP lets any proxy do. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface OutcomeSeen {
  readonly outcome: Outcome | 'none'
  readonly reason: string
  /** Fetched buckets. */
  readonly asked: number
}

type Headers = Readonly<Record<string, string>>
const formHeader = { 'content-type': 'application/x-www-form-urlencoded' }

export class ApiClient {
  readonly #pool: Pool

  constructor(url: string, connections = 8) {
    this.#pool = new Pool(url, { connections, pipelining: 1 })
  }

  queryRange(ask: Ask, headers: Headers = {}): Promise<Answer> {
    const search = encode(ask.search)
    return this.#send({
      path: `/api/v1/query_range${search === '' ? '' : `?${search}`}`,
      method: ask.method,
      headers: ask.method === 'POST' ? { ...formHeader, ...headers } : headers,
      body: ask.method === 'POST' ? encode(ask.form) : null,
    })
  }

  post(path: string, body: string, headers: Headers): Promise<Answer> {
    return this.#send({ path, method: 'POST', headers, body })
  }

  get(path: string): Promise<Answer> {
    return this.#send({ path, method: 'GET' })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #send(options: Parameters<Pool['request']>[0]): Promise<Answer> {
    const { statusCode, headers, body } = await this.#pool.request(options)
    const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')])
    return {
      status: statusCode,
      headers: Object.fromEntries(joined),
      body: Buffer.from(await body.arrayBuffer()),
    }
  }
}

/** Reads `windowpane; fwd=partial; detail="partial/expired asked=4 buckets=720"`. */
export function outcomeOf(answer: Answer): OutcomeSeen {
  const detail = /detail="([^"]*)"/.exec(answer.headers['cache-status'] ?? '')?.[1] ?? ''
  const [first = '', ...rest] = detail.split(' ')
  const [name, reason = ''] = first.split('/')
  const asked = rest.find((word) => word.startsWith('asked='))?.slice('asked='.length)
  return {
    outcome: outcomes.find((known) => known === name) ?? 'none',
    reason,
    asked: Number(asked ?? 0),
  }
}

export const isEmptyResult = (answer: Answer): boolean =>
  answer.status !== 200 || answer.body.subarray(0, 100).includes('"result":[]')
