/** Queries one server over connections that stay open. */
import { Pool } from 'undici'
import type { Answer } from '../coalescing/viewer.ts'
import type { RangeQuery } from '../servers/query.ts'

export class Asker {
  readonly #pool: Pool

  constructor(url: string) {
    this.#pool = new Pool(url)
  }

  async ask({ query, start, end, stepMs }: RangeQuery): Promise<Answer> {
    const range = { start: String(start / 1000), end: String(end / 1000), step: String(stepMs / 1000) }
    const path = `/api/v1/query_range?${new URLSearchParams({ query, ...range })}`
    const { statusCode, headers, body } = await this.#pool.request({ path, method: 'GET' })
    return { status: statusCode, headers, body: await body.text(), isWhole: true }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
