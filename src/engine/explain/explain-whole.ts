/** Explains the decision about a request whose answer is cached as a whole, without any effect. */
import type { EpochMs } from '../../core/clock.ts'
import { missReason } from '../objects/whole-answer.ts'
import type { LookedWhole, WholeCache } from '../objects/whole-cache.ts'
import type { WholeRequest } from '../objects/whole-request.ts'
import type { Explanation } from './explain.ts'
import { duration } from './sentence.ts'

type Asked = Omit<WholeRequest, 'client' | 'target'>

export async function explainWhole(
  cache: Pick<WholeCache, 'look'>,
  request: Asked,
  now: EpochMs,
): Promise<Explanation> {
  const looked = await cache.look(request)
  const about = { now, key: looked.key, shape: request.plan.text }
  const state = stateOf(request, looked, now)
  if (state.isFresh) return { ...about, outcome: 'hit', sentence: `Hit: ${state.sentence}.` }
  if (request.demands.onlyIfCached)
    return { ...about, outcome: 'refused', reason: 'only_if_cached', sentence: refused }
  const reason = missReason(request.demands, looked.marked, looked.stored !== undefined)
  return { ...about, outcome: 'miss', reason, sentence: `Miss: ${state.sentence}; ${kept(request)}.` }
}

const refused = 'Refused: the client accepts only a stored answer, and there is no fresh one.'

interface State {
  readonly isFresh: boolean
  readonly sentence: string
}

function stateOf(request: Asked, { stored, demands }: LookedWhole, now: EpochMs): State {
  const { endpoint } = request.plan
  if (stored === undefined) return { isFresh: false, sentence: `no answer of ${endpoint} is stored` }
  const age = `the answer of ${endpoint} was generated ${duration(now - stored.generatedAt)} ago`
  if (stored.generatedAt < demands.freshFrom)
    return { isFresh: false, sentence: `${age}, before it was purged or changed, or than the client wants` }
  const leftMs =
    stored.at === undefined ? (stored.freshUntil ?? now) - now : leftOfInstant(request, stored, now)
  if (leftMs > 0) {
    const sentence = `${age} and stays fresh for ${duration(leftMs)}; the database would not be queried`
    return { isFresh: true, sentence }
  }
  const isServed = -leftMs < 1000 * request.terms.staleWhileRevalidateSeconds && stored.at === undefined
  const sentence = isServed
    ? `${age} and is fetched again in the background; it would be served meanwhile`
    : `${age} and is no longer fresh`
  return { isFresh: isServed, sentence }
}

/** An instant query stands for its own time, or for one a little later. */
function leftOfInstant(
  { plan, withinMs, terms }: Asked,
  { at, generatedAt }: NonNullable<LookedWhole['stored']>,
  now: EpochMs,
): number {
  const laterMs = plan.at! - at!
  const lifetimeMs = laterMs === 0 ? Math.max(withinMs, 1000 * terms.revalidateSeconds) : withinMs
  return laterMs >= 0 && laterMs <= withinMs ? generatedAt + lifetimeMs - now : 0
}

function kept({ plan, terms, withinMs }: Asked): string {
  const { revalidateSeconds, staleWhileRevalidateSeconds, staleIfErrorSeconds } = terms
  const asked = 'the database would be queried'
  const ifError =
    staleIfErrorSeconds === 0
      ? ''
      : `, and serve for ${shown(staleIfErrorSeconds)} more where the database fails`
  if (plan.at !== undefined && withinMs === 0)
    return `${asked}, because an instant query is answered for its own time only (see instant.within)${ifError.replace(', and serve', '; its answer would serve')}`
  const fresh = plan.at === undefined ? revalidateSeconds : withinMs / 1000
  const meanwhile =
    staleWhileRevalidateSeconds === 0
      ? ''
      : `, be served for ${shown(staleWhileRevalidateSeconds)} more while it is fetched again`
  return `${asked}, and its answer would be fresh for ${shown(fresh)}${meanwhile}${ifError}`
}

const shown = (seconds: number): string => duration(1000 * seconds)
