/** Runs a seeded suite: several walks at a time, each of them in order, every answer compared. */
import { type Answer, ApiClient, isEmptyResult, outcomeOf } from './client.ts'
import { compareAnswers } from './compare.ts'
import type { Param } from './form.ts'
import { type Itinerary, planWalk, type Run, type Stop } from './itinerary.ts'
import { type Ask, encode } from './spelling.ts'
import { Tally } from './tally.ts'

export interface Servers {
  readonly direct: string
  readonly proxied: string
  /** Additional parameters of direct queries, where the answer without them would differ. */
  readonly directExtra?: readonly Param[]
  /** How answers are compared that are not those of Prometheus. */
  readonly compare?: typeof compareAnswers
}

export interface Size {
  readonly comparisons: number
  /** Walks under way at the same time. */
  readonly walkers: number
  /** Replays only this walk. */
  readonly only?: number
}

export async function runSuite(run: Run, servers: Servers, size: Size): Promise<Tally> {
  const tally = new Tally(run)
  const direct = new ApiClient(servers.direct, size.walkers)
  const proxied = new ApiClient(servers.proxied, size.walkers)
  const numbers =
    size.only === undefined ? walkNumbers(() => tally.comparisons < size.comparisons) : [size.only].values()
  const walker = async () => {
    for (const number of numbers)
      await takeWalk(planWalk(run, number), { ...servers, direct, proxied, tally })
  }
  try {
    await Promise.all(Array.from({ length: size.walkers }, walker))
  } finally {
    await Promise.all([direct.close(), proxied.close()])
  }
  return tally
}

/** One source of numbers for all walkers, until enough was compared. */
export function* walkNumbers(wanted: () => boolean): Generator<number> {
  for (let number = 0; wanted(); number++) yield number
}

interface Desk extends Pick<Servers, 'directExtra' | 'compare'> {
  readonly direct: ApiClient
  readonly proxied: ApiClient
  readonly tally: Tally
}

async function takeWalk(walk: Itinerary, desk: Desk): Promise<void> {
  // The data is static: a request repeated to the letter has one direct answer. The proxied one is always sent.
  const known = new Map<string, Promise<Answer>>()
  for (const stop of walk.stops) {
    const expected = known.get(stop.key) ?? desk.direct.queryRange(withExtra(stop.ask, desk.directExtra))
    known.set(stop.key, expected)
    await compareAt(walk, stop, { ...desk, expected })
  }
}

const withExtra = (ask: Ask, extra: readonly Param[] = []): Ask => ({
  ...ask,
  search: [...ask.search, ...extra],
})

async function compareAt(
  walk: Itinerary,
  stop: Stop,
  desk: Desk & { expected: Promise<Answer> },
): Promise<void> {
  const [direct, proxied] = await Promise.all([desk.expected, desk.proxied.queryRange(stop.ask)])
  desk.tally.add({
    expected: walk.form,
    question: walk.form.query,
    walk: walk.number,
    place: `${walk.stops.indexOf(stop) + 1} of ${walk.stops.length}`,
    request: described(stop.ask),
    isEmpty: isEmptyResult(proxied),
    cacheStatus: proxied.headers['cache-status'],
    seen: outcomeOf(proxied),
    difference: (desk.compare ?? compareAnswers)(direct, proxied),
  })
}

function described({ method, search, form }: Ask): string {
  const body = form.length === 0 ? '' : ` with the form ${encode(form)}`
  return `${method} /api/v1/query_range?${encode(search)}${body}`
}
