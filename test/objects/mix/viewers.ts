/** Viewers of dashboards: each loads one at a moment of its own and then refreshes it regularly. Time is the clock's. */
import { seededRandom } from '../../../src/testing/random.ts'
import { type Call, firstLoad, refresh } from './calls.ts'
import type { Dashboard } from './dashboards.ts'

export interface Viewing {
  readonly dashboards: readonly Dashboard[]
  readonly viewersOfEach: number
  readonly refreshMs: number
  readonly from: number
  /** How many times each viewer refreshes. */
  readonly refreshes: number
}

export interface PageLoad {
  readonly at: number
  readonly calls: readonly Call[]
}

/** Browsers are not on time: without this, refreshes meet the moment at which an answer of 10 s expires, again and again. */
const lateMs = 500

/** All first loads: within one refresh period, at random. */
export const firstLoads = (viewing: Viewing): PageLoad[] => loads(viewing, [0])

export const refreshLoads = (viewing: Viewing): PageLoad[] =>
  loads(
    viewing,
    Array.from({ length: viewing.refreshes }, (_, i) => i + 1),
  )

/** In the order of time. */
function loads(viewing: Viewing, rounds: readonly number[]): PageLoad[] {
  const { dashboards, viewersOfEach, refreshMs, from } = viewing
  const random = seededRandom(1)
  const viewers = dashboards.flatMap((dashboard) =>
    Array.from({ length: viewersOfEach }, () => ({ dashboard, phase: random() * refreshMs })),
  )
  const all = viewers.flatMap(({ dashboard, phase }) =>
    rounds.map((round) => {
      const at = Math.floor(from + phase + round * refreshMs + random() * lateMs)
      return { at, calls: round === 0 ? firstLoad(dashboard, at) : refresh(dashboard, at) }
    }),
  )
  return all.sort((a, b) => a.at - b.at)
}
