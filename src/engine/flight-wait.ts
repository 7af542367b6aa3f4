/** Waiting for the flights that bring the gaps of one request. */
import type { FetchResult } from './fetch.ts'
import type { JoinedFlight } from './flights.ts'
import type { Intake } from './intake.ts'
import { findStale, staleAnswerOf } from './stale.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'

/** Where one request gets its gaps from. */
interface GapSources {
  readonly taken: readonly JoinedFlight[]
  /** Its own fetch, if it has one. */
  readonly fetch: Intake | undefined
  /** After this time a stale answer is given, where there is one; at once where it is over already. */
  readonly patienceMs: number
}

const slow = { reason: 'database_slow', detail: 'still waiting' } as const

/** Waits for all flights, but not longer than its patience where a stale answer is at hand. */
export async function waitForFlights(
  options: IntervalCacheOptions,
  trip: Trip,
  sources: GapSources,
): Promise<FetchResult[] | Answer | 'again'> {
  const { taken, fetch } = sources
  let isOver = false
  const landed = Promise.all(taken.map(({ flight }) => flight.result)).then((results) => {
    isOver = true
    return results
  })
  trip.request.client.onGone(() => {
    fetch?.dropTarget()
    if (!isOver) for (const { flight } of taken) flight.leave()
  })
  const first = await orPatience(options, trip, { ...sources, landed })
  if (!Array.isArray(first) || !fetch?.isStreaming) return first
  await fetch.delivered
  return { kind: 'streamed' }
}

function orPatience(
  options: IntervalCacheOptions,
  trip: Trip,
  { fetch, patienceMs, landed }: GapSources & { readonly landed: Promise<FetchResult[]> },
): Promise<FetchResult[] | Answer | 'again'> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const giveStale = async () => {
      if (fetch?.isStreaming) return
      const usable = await findStale(options, trip)
      if (usable === undefined || isOver || fetch?.isStreaming) return
      // The client gets this answer; the rest of the fetch is only for the store.
      fetch?.dropTarget()
      resolve(staleAnswerOf(options, trip, { ...usable, why: slow }))
    }
    const timer = options.clock.after(patienceMs, () => void giveStale().catch(reject))
    landed.then(resolve, reject).finally(() => {
      isOver = true
      timer.cancel()
    })
  })
}
