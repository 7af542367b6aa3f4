/** Converts a fetch for the object cache: the body to store, its terms, and answers that are only served. */
import type { WholeResponse } from '../fetch.ts'
import { keptHeaders } from '../kept-headers.ts'
import type { ObjectTerms, Rendered } from './objects.ts'
import type { Fetched, WholeResult } from './whole-fetch.ts'

/** Why there is nothing to store; carries the result of the fetch through the object cache. */
export class NotRendered extends Error {
  readonly result: Exclude<WholeResult, Fetched>

  constructor(result: Exclude<WholeResult, Fetched>) {
    super(result.kind)
    this.result = result
  }
}

export function renderedOf(
  { body, headers: all, forbidden, isComplete, limits }: Fetched,
  terms: Required<ObjectTerms>,
  capabilities: Parameters<typeof keptHeaders>[1],
): Rendered {
  if (forbidden !== undefined) return { body, headers: all, isStorable: false }
  const headers = keptHeaders(all, capabilities)
  if (!isComplete) return { body, headers, terms: nothingKept }
  const { seconds, mustRevalidate } = limits
  if (seconds === Number.POSITIVE_INFINITY && !mustRevalidate) return { body, headers }
  // A response that limits its own lifetime permits nothing stale, except where the database fails (RFC 9111 §4.2.4).
  const staleIfErrorSeconds = mustRevalidate ? 0 : terms.staleIfErrorSeconds
  const revalidateSeconds = Math.min(terms.revalidateSeconds, seconds)
  return { body, headers, terms: { ...terms, ...nothingKept, revalidateSeconds, staleIfErrorSeconds } }
}

/** Only 200 is stored. */
export const refusedOf = (response: WholeResponse): Rendered =>
  response.status < 300 ? { ...response, isStorable: false } : response

const nothingKept = { revalidateSeconds: 0, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 0 }
