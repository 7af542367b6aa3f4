/** Whether the last points that the server still changes are among those that are never stored. */
import { formatDuration, parseDuration } from '../../config/units.ts'
import { type Finding, found } from '../../core/finding.ts'
import type { ConnectedDatabase, Subject } from '../kind.ts'
import { adjustedBelowMs, unsettledMs } from './plan.ts'

const longest = {
  'search.latencyOffset': unsettledMs,
  'search.maxStepForPointsAdjustment': adjustedBelowMs,
  // Of the samples of one interval the last one counts: until the interval is over, that is another one.
  'dedup.minScrapeInterval': unsettledMs,
}

export async function examineFlags({ name }: Subject, database: ConnectedDatabase): Promise<Finding[]> {
  const about = found(`settings ${name}`)
  const answer = await database.get('/flags').catch(() => undefined)
  const text = answer?.status === 200 ? answer.text : ''
  if (!text.startsWith('-')) return [about.skip('The database does not expose its settings.')]
  const tooLong = Object.entries(longest).flatMap(([flag, mostMs]) => {
    const ms = parseDuration(new RegExp(`^-${flag}="(.+)"$`, 'm').exec(text)?.[1] ?? '') ?? 0
    if (ms <= mostMs) return []
    const sentence = `-${flag} is ${formatDuration(ms)}, so that points change which Windowpane has stored.`
    const remedy = `Set it to at most ${formatDuration(mostMs)}, or forward such windows by a rule.`
    return [about.warn(sentence, remedy)]
  })
  return tooLong.length > 0 ? tooLong : [about.ok('No setting changes points that are stored.')]
}
