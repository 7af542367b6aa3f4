/** VictoriaMetrics' additions to the planning of range queries: its reading of parameters, and its last points. */
import type { EpochMs } from '../../core/clock.ts'
import { bucketAt } from '../../core/grid.ts'
import { namedLike } from '../../core/name-pattern.ts'
import type { BackendOptions } from '../kind.ts'
import { firstValue, type Pairs } from '../matrix/form.ts'
import * as matrix from '../matrix/plan.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import { parseStep } from '../matrix/time.ts'
import { createExaminer } from './promql.ts'

/** `-search.latencyOffset`, and as much again for a server whose clock is late and whose setting is a bit longer. */
export const unsettledMs = 30_000 + 30_000
/** `-search.maxStepForPointsAdjustment`. */
export const adjustedBelowMs = 60_000

/** The tenant of a cluster, where its path names none. */
export const isQuestionHeader = namedLike(['accountid', 'projectid'])

export const createPlanner = (options: BackendOptions): matrix.Planner =>
  matrix.createPlanner(options, {
    ...{ examine: createExaminer(), otherTerms: ['nocache'], refuse, split, isQuestionHeader },
  })

/**
 * Points younger than the latency offset repeat the last older point of the same answer, so they belong to one request
 * and are not stored. They are fetched together with at least one older point: alone they would be left out.
 */
function split({ grid, window }: matrix.PlannedBuckets, now: EpochMs): matrix.Split | undefined {
  const firstLive = bucketAt(grid, now - unsettledMs - grid.step) + 1
  if (grid.step >= adjustedBelowMs || !(firstLive < window.to)) return undefined
  const isAllLive = window.from >= firstLive
  const live = { from: isAllLive ? window.from : firstLive, to: window.to }
  return {
    whole: isAllLive ? [] : [{ from: window.from, to: firstLive }],
    // The end decides which points are adjusted, and a beginning among them which older point there is.
    edges: { buckets: [live], parts: isAllLive ? `${live.from} ${live.to}` : `${live.to}` },
  }
}

/** Instants that VictoriaMetrics reads as Prometheus does: it takes short numbers for years, and rounds to ms by itself. */
const readAlike =
  /^(?:[1-9]\d{8,9}(?:\.\d{1,3}0{0,6})?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d))$/

function refuse(pairs: Pairs): PromqlBypass | undefined {
  if (firstValue(pairs, 'trace') !== undefined) return { bypass: 'stats', detail: 'a query trace' }
  const refuseAs = (detail: string): PromqlBypass => ({ bypass: 'invalid_parameter', detail })
  if (firstValue(pairs, 'latency_offset') !== undefined) return refuseAs('latency_offset')
  const other = ['start', 'end'].find((name) => !readAlike.test(firstValue(pairs, name)!))
  if (other !== undefined) return refuseAs(`${other}: VictoriaMetrics may read another time`)
  return isReadAlike(firstValue(pairs, 'step')!) ? undefined : refuseAs('step: not whole milliseconds')
}

/** It multiplies seconds by a thousand and cuts off the fraction: 8.2 s may become 8199 ms. */
function isReadAlike(step: string): boolean {
  const ms = parseStep(step)!
  const seconds = /[a-z]/.test(step) ? ms / 1000 : Number(step)
  return Math.trunc(seconds * 1000) === ms
}
