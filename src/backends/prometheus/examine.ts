/** The consequences of a Prometheus' settings for the cache in front of it. */
import { formatDuration } from '../../config/units.ts'
import { type Finding, found } from '../../core/finding.ts'
import { type Fields, fieldsIn, hasFields } from '../../core/json-object.ts'
import { oneLine } from '../../core/text.ts'
import type { ConnectedDatabase, Subject } from '../kind.ts'
import { parseDuration } from '../matrix/time.ts'

export async function examinePrometheus(subject: Subject, database: ConnectedDatabase): Promise<Finding[]> {
  const [flags, runtime, settings] = await Promise.all([
    dataOf(database, '/api/v1/status/flags'),
    dataOf(database, '/api/v1/status/runtimeinfo'),
    dataOf(database, '/api/v1/status/config'),
  ])
  if (flags === undefined && runtime === undefined) {
    return [found(`settings ${subject.name}`).skip('The database does not expose its settings.')]
  }
  return [
    ...flagFindings(subject, flags ?? {}),
    ...runtimeFindings(subject, runtime ?? {}),
    ...lateFindings(subject, String(settings?.['yaml'] ?? '')),
  ]
}

async function dataOf(database: ConnectedDatabase, path: string): Promise<Fields | undefined> {
  const answer = await database.get(path).catch(() => undefined)
  const { data } = answer?.status === 200 ? fieldsIn(answer.text) : {}
  return hasFields(data) ? data : undefined
}

function flagFindings({ name, upstreamTimeoutMs: ours }: Subject, flags: Fields): Finding[] {
  const about = found(`settings ${name}`)
  const value = (flag: string): string => oneLine(String(flags[flag] ?? 'unknown'))
  const theirs = parseDuration(value('query.timeout'))
  if (theirs !== undefined && theirs > ours) {
    const sentence = `The database works on a query for up to ${value('query.timeout')}, and Windowpane gives up after ${formatDuration(ours)} of silence.`
    return [about.warn(sentence, `Set limits.upstreamTimeout above ${value('query.timeout')}.`)]
  }
  const shown = ['query.lookback-delta', 'query.timeout', 'query.max-samples', 'query.max-concurrency']
  return [about.ok(`${shown.map((flag) => `${flag} ${value(flag)}`).join(', ')}.`)]
}

function runtimeFindings({ name }: Subject, runtime: Fields): Finding[] {
  const about = found(`state ${name}`)
  const { reloadConfigSuccess, corruptionCount, storageRetention } = runtime
  if (reloadConfigSuccess === false) {
    const remedy = 'Look at its log; promtool check config helps.'
    return [about.warn('The database refused its last configuration.', remedy)]
  }
  if (typeof corruptionCount === 'number' && corruptionCount > 0) {
    const sentence = `The database met ${corruptionCount} corruptions of its own data.`
    return [about.warn(sentence, 'Look at its log.')]
  }
  return storageRetention === undefined
    ? []
    : [about.ok(`It keeps data for ${oneLine(String(storageRetention))}.`)]
}

/** Samples that come late change buckets that are cached already. */
function lateFindings({ name, policy }: Subject, yaml: string): Finding[] {
  const text = /^\s*out_of_order_time_window: (\S+)/m.exec(yaml)?.[1] ?? ''
  const window = parseDuration(text)
  if (window === undefined || window === 0) return []
  const late = found(`late data ${name}`)
  if (policy.isLearned) {
    return [late.ok(`The database takes samples up to ${text} late; how often that happens is learned.`)]
  }
  const ttl = policy.ttl(window)
  const sentence = `The database takes samples up to ${text} late; a bucket of that age is cached for ${formatDuration(ttl)}, so that late samples may stay unseen as long.`
  const remedy = `If that is too long, lower policies.${policy.name}.cap, or purge after a backfill.`
  return [late.warn(sentence, remedy)]
}
