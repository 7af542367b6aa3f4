/** The effect of purges and changes on an answer that is cached as a whole. */
import type { WholePlan } from '../../backends/whole-answers.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'
import { isConcerned, type Mark } from '../../core/mark.ts'
import type { BackendMarks } from '../marks.ts'

/** An answer generated at or before `changedAt` is not fresh, one at or before `purgedAt` not usable. */
export interface MarkedAt {
  readonly changedAt: EpochMs
  readonly purgedAt: EpochMs
}

const never: MarkedAt = { changedAt: Number.NEGATIVE_INFINITY, purgedAt: Number.NEGATIVE_INFINITY }

export function markedAt(
  marks: Pick<BackendMarks, 'marksAbout'> | undefined,
  key: Key,
  plan: WholePlan,
): MarkedAt {
  const about = marks?.marksAbout(plan) ?? []
  if (about.length === 0) return never
  const question = { ...plan, key, shape: plan.text, query: plan.query ?? plan.text }
  let { changedAt, purgedAt } = never
  for (const mark of about) {
    if (!isConcerned(mark, question) || !isOverlapping(mark, plan)) continue
    if (mark.kind === 'purge') purgedAt = Math.max(purgedAt, mark.at)
    else changedAt = Math.max(changedAt, mark.at)
  }
  return { changedAt: Math.max(changedAt, purgedAt), purgedAt }
}

const isOverlapping = (mark: Mark, { span }: WholePlan): boolean =>
  span === undefined || (mark.from < span.to && mark.to > span.from)
