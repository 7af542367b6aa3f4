/** Do the databases answer, are they what they should be, is their clock right, and do their settings fit ours? */
import { flavourPath, readFlavour } from '../../backends/prometheus/flavour.ts'
import { policyOf } from '../../config/policy-types.ts'
import { type ConnectedDatabase, connectTo, type DatabaseAnswer } from '../../config/probe.ts'
import type { BackendConfig, Config } from '../../config/schema.ts'
import { formatDuration, parseDuration } from '../../config/units.ts'
import type { Clock } from '../../core/clock.ts'
import { withoutCredentials } from '../../proxy/url.ts'
import { causeOf } from '../admin-client.ts'
import { oneLine } from '../text.ts'
import { type Finding, found } from './finding.ts'

/** One database at one URL. */
interface Subject {
  readonly name: string
  readonly url: string
  readonly backend: BackendConfig
  readonly config: Config
}

export async function checkDatabases(config: Config, clock: Clock): Promise<Finding[]> {
  const subjects = Object.entries(config.backends).flatMap(([name, backend]) =>
    backend.url.map((url): Subject => ({ name, url, backend, config })),
  )
  return (await Promise.all(subjects.map((subject) => checkOne(subject, clock)))).flat()
}

async function checkOne(subject: Subject, clock: Clock): Promise<Finding[]> {
  const { name, url, backend } = subject
  const about = found(`database ${name}`)
  const shown = withoutCredentials(url)
  let database: ConnectedDatabase | undefined
  try {
    database = await connectTo(backend, url)
    const sentAt = clock.now()
    const answer = await database.get(flavourPath)
    const flavour = flavourFinding(name, shown, answer)
    if (flavour.status === 'fail') return [flavour]
    const skew = skewFinding(name, answer.date, { sentAt, receivedAt: clock.now() })
    return [flavour, skew, ...(await checkSettings(subject, database))]
  } catch (error) {
    return [
      about.fail(
        `${shown} does not answer: ${causeOf(error)}.`,
        `Check backends.${name}.url, the network and TLS.`,
      ),
    ]
  } finally {
    await database?.close()
  }
}

function flavourFinding(name: string, url: string, { status, text }: DatabaseAnswer): Finding {
  const about = found(`database ${name}`)
  if (status === 401 || status === 403) {
    const remedy = `Set backends.${name}.auth, or rely on the credentials that clients bring.`
    return about.warn(`${url} answers, but not without credentials (status ${status}).`, remedy)
  }
  const { isKnown, label } = readFlavour(status, text)
  if (isKnown) return about.ok(`${url} is ${oneLine(label)}.`)
  const remedy = 'Only Prometheus 2 and 3 are known to be decomposable; others are passed through.'
  return about.warn(`${url} answers but is not cached: ${oneLine(label)}.`, remedy)
}

/** Date headers are cut to whole seconds. */
const dateCutMs = 500
const mostSkewMs = 2_000

export function skewFinding(
  name: string,
  date: string | undefined,
  { sentAt, receivedAt }: { readonly sentAt: number; readonly receivedAt: number },
): Finding {
  const about = found(`clock ${name}`)
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return about.skip('The database sends no Date header.')
  const skewMs = theirs + dateCutMs - (sentAt + receivedAt) / 2
  const allowedMs = mostSkewMs + (receivedAt - sentAt) / 2
  if (Math.abs(skewMs) <= allowedMs) {
    return about.ok(
      `The database's clock agrees with this machine's, as far as its Date header tells (±1 s).`,
    )
  }
  const text = `${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`
  const remedy = 'Let both machines take their time from NTP: how fresh a bucket is depends on it.'
  return about.warn(`The database's clock is ${text}.`, remedy)
}

async function checkSettings(subject: Subject, database: ConnectedDatabase): Promise<Finding[]> {
  const [flags, runtime, settings] = await Promise.all([
    dataOf(database, '/api/v1/status/flags'),
    dataOf(database, '/api/v1/status/runtimeinfo'),
    dataOf(database, '/api/v1/status/config'),
  ])
  if (flags === undefined && runtime === undefined) {
    return [found(`settings ${subject.name}`).skip('The database does not tell its settings.')]
  }
  return [
    ...flagFindings(subject, flags ?? {}),
    ...runtimeFindings(subject, runtime ?? {}),
    ...lateFindings(subject, String(settings?.['yaml'] ?? '')),
  ]
}

async function dataOf(
  database: ConnectedDatabase,
  path: string,
): Promise<Record<string, unknown> | undefined> {
  try {
    const { status, text } = await database.get(path)
    const { data } = JSON.parse(text) as { data?: Record<string, unknown> }
    return status === 200 && typeof data === 'object' ? data : undefined
  } catch {
    return undefined
  }
}

function flagFindings({ name, config }: Subject, flags: Record<string, unknown>): Finding[] {
  const about = found(`settings ${name}`)
  const value = (flag: string): string => oneLine(String(flags[flag] ?? 'unknown'))
  const ours = config.limits.upstreamTimeoutMs
  const theirs = parseDuration(value('query.timeout'))
  if (theirs !== undefined && theirs > ours) {
    const sentence = `The database works on a query for up to ${value('query.timeout')}, and Windowpane gives up after ${formatDuration(ours)} of silence.`
    return [about.warn(sentence, `Set limits.upstreamTimeout above ${value('query.timeout')}.`)]
  }
  const shown = ['query.lookback-delta', 'query.timeout', 'query.max-samples', 'query.max-concurrency']
  return [about.ok(`${shown.map((flag) => `${flag} ${value(flag)}`).join(', ')}.`)]
}

function runtimeFindings({ name }: Subject, runtime: Record<string, unknown>): Finding[] {
  const about = found(`state ${name}`)
  const { reloadConfigSuccess, corruptionCount, storageRetention } = runtime
  if (reloadConfigSuccess === false) {
    return [
      about.warn(
        'The database refused its last configuration.',
        'Look at its log; promtool check config helps.',
      ),
    ]
  }
  if (typeof corruptionCount === 'number' && corruptionCount > 0) {
    return [
      about.warn(`The database met ${corruptionCount} corruptions of its own data.`, 'Look at its log.'),
    ]
  }
  return storageRetention === undefined
    ? []
    : [about.ok(`It keeps data for ${oneLine(String(storageRetention))}.`)]
}

/** Samples that come late change buckets that are believed already. */
function lateFindings({ name, backend, config }: Subject, yaml: string): Finding[] {
  const text = /^\s*out_of_order_time_window: (\S+)/m.exec(yaml)?.[1]
  const window = text === undefined ? undefined : parseDuration(text)
  if (window === undefined || window === 0) return []
  const ttl = policyOf(config.policies[backend.policy]!).ttl(window)
  const sentence = `The database takes samples up to ${text} late; a bucket of that age is believed for ${formatDuration(ttl)}, so that what comes late may stay unseen as long.`
  const remedy = `If that is too long, lower policies.${backend.policy}.cap, or purge after a backfill.`
  return [found(`late data ${name}`).warn(sentence, remedy)]
}
