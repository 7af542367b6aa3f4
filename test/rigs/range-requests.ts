/** Requests for range queries, as clients of Prometheus' API send them. */
import type { WireRequest } from '../../src/backends/backend.ts'
import { pick, type Random, wholeNumber } from '../../src/testing/random.ts'
import { printInstant } from './matrix.ts'

const path = '/api/v1/query_range'

export const getRange = (search: string): WireRequest => ({
  ...{ method: 'GET', path, search, headers: [], body: new Uint8Array() },
})

export const postRange = (body: string, search = ''): WireRequest => ({
  ...{ method: 'POST', path, search, body: Buffer.from(body) },
  headers: ['content-type', 'application/x-www-form-urlencoded'],
})

/** Some windows end between two instants. */
export function someRange(
  random: Random,
  { queries, starts }: { readonly queries: readonly string[]; readonly starts: readonly number[] },
): WireRequest {
  const stepMs = pick(random, [1, 500, 1000, 15_000, 60_000, 86_400_000])
  const start = pick(random, starts)
  const end = start + stepMs * wholeNumber(random, 0, 20) + Math.floor(random() * stepMs)
  const query = encodeURIComponent(pick(random, queries))
  const form = `query=${query}&start=${printInstant(start)}&end=${printInstant(end)}&step=${stepMs}ms`
  return random() < 0.5 ? getRange(form) : postRange(form)
}
