/** Whether a Druid answers SQL, how it is, and whether it works on queries for longer than they are waited for. */
import { sqlPath } from '../../backends/druid/paths.ts'
import type { ConnectedDatabase, DatabaseAnswer } from '../../config/probe.ts'
import { formatDuration } from '../../config/units.ts'
import { bytesText, counted, oneLine } from '../text.ts'
import type { Subject } from './databases.ts'
import { type Finding, found } from './finding.ts'

export async function checkDruid(subject: Subject, database: ConnectedDatabase): Promise<Finding[]> {
  const answerTo = (asking: Promise<DatabaseAnswer>) => asking.catch(() => noAnswer)
  const [sql, health, status, properties] = await Promise.all([
    answerTo(database.post(sqlPath, { query: countSources })),
    answerTo(database.get('/status/health')),
    answerTo(database.get('/status')),
    answerTo(database.get('/status/properties')),
  ])
  return [
    sqlFinding(subject, sql),
    ...stateFindings(subject, health, objectIn(status)),
    ...timeoutFindings(subject, objectIn(properties)),
  ]
}

const noAnswer: DatabaseAnswer = { status: 0, text: '', date: undefined }

const countSources = "SELECT COUNT(*) AS n FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'druid'"

function sqlFinding({ name }: Subject, answer: DatabaseAnswer): Finding {
  const about = found(`SQL ${name}`)
  const { status, text } = answer
  const count = /^\[\{"n":(\d+)\}\]/.exec(text)?.[1]
  if (status === 200 && count !== undefined) {
    return about.ok(`SQL answers; there are ${counted(Number(count), 'data source')}.`)
  }
  if (status === 401 || status === 403) return about.skip(`SQL asks for credentials (status ${status}).`)
  const remedy =
    'Name a Broker or a Router, and look for druid.sql.enable: without SQL, only native queries work.'
  return about.warn(`SQL does not answer${status === 0 ? '' : ` (status ${status})`}.`, remedy)
}

type Members = Readonly<Record<string, unknown>>

function stateFindings({ name }: Subject, health: DatabaseAnswer, status: Members | undefined): Finding[] {
  const about = found(`state ${name}`)
  if (health.status === 200 && health.text.trim() !== 'true') {
    return [about.warn('It says that it is not healthy.', 'Look at its log.')]
  }
  const { modules, memory } = status ?? {}
  if (!Array.isArray(modules)) return []
  const names = new Set(modules.map((each) => (each as { artifact?: unknown } | null)?.artifact))
  const { usedMemory, maxMemory } = (memory ?? {}) as { usedMemory?: unknown; maxMemory?: unknown }
  const used =
    typeof usedMemory === 'number' && typeof maxMemory === 'number'
      ? `, ${bytesText(usedMemory)} of ${bytesText(maxMemory)} of memory used`
      : ''
  return [about.ok(`It is healthy: ${counted(names.size, 'extension')}${used}.`)]
}

const textOf = (members: Members | undefined, name: string): string =>
  typeof members?.[name] === 'string' ? members[name] : ''

/** Its own default. */
const usualTimeoutMs = 300_000

/** Of a Broker: those of a Router are not those of the Brokers behind it. */
function timeoutFindings({ name, config }: Subject, properties: Members | undefined): Finding[] {
  if (!textOf(properties, 'druid.service').includes('broker')) return []
  const about = found(`settings ${name}`)
  const key = 'druid.server.http.defaultQueryTimeout'
  const theirs = Number(textOf(properties, key) || usualTimeoutMs)
  const ours = config.limits.upstreamTimeoutMs
  if (Number.isNaN(theirs)) return []
  const text = theirs === 0 ? 'without end' : `for up to ${formatDuration(theirs)}`
  const sentence = `The database works on a query ${text} (${oneLine(key)})`
  if (theirs > 0 && theirs <= ours) return [about.ok(`${sentence}.`)]
  const remedy = `Set limits.upstreamTimeout above that where queries are slow, or a timeout in their context.`
  return [
    about.warn(`${sentence}, and Windowpane gives up after ${formatDuration(ours)} of silence.`, remedy),
  ]
}

function objectIn({ status, text }: DatabaseAnswer): Members | undefined {
  try {
    const value: unknown = status === 200 ? JSON.parse(text) : undefined
    return typeof value === 'object' && value !== null ? (value as Members) : undefined
  } catch {
    return undefined
  }
}
