/** Queries Prometheus' API directly, for tests of the content of a server. */
import { request } from 'undici'

export interface RangeQuery {
  readonly query: string
  /** Milliseconds since 1970; start and end are both included. */
  readonly start: number
  readonly end: number
  readonly stepMs: number
}

export interface Matrix {
  readonly metric: Readonly<Record<string, string>>
  readonly values?: readonly [number, string][]
  readonly histograms?: readonly [number, { count: string; sum: string; buckets?: unknown[] }][]
}

/** Returns the body as it came. */
export async function rangeText(baseUrl: string, range: RangeQuery): Promise<string> {
  const form = new URLSearchParams({
    query: range.query,
    start: String(range.start / 1000),
    end: String(range.end / 1000),
    step: String(range.stepMs / 1000),
  })
  const response = await request(`${baseUrl}/api/v1/query_range?${form}`)
  const text = await response.body.text()
  if (response.statusCode !== 200) throw new Error(`${range.query}: ${response.statusCode} ${text}`)
  return text
}

export async function rangeMatrix(baseUrl: string, range: RangeQuery): Promise<Matrix[]> {
  const answer = JSON.parse(await rangeText(baseUrl, range)) as { data: { result: Matrix[] } }
  return answer.data.result
}
