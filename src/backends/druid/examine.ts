/** Whether a Druid answers SQL, how it is, and whether it works on queries for longer than they are waited for. */
import { bytesText, formatDuration } from '../../config/units.ts'
import { type Finding, found } from '../../core/finding.ts'
import { type Fields, isObject, jsonIn } from '../../core/json-object.ts'
import { counted, oneLine } from '../../core/text.ts'
import { instantOf, zoneOf } from '../../core/zone.ts'
import type { ConnectedDatabase, DatabaseAnswer, Subject as SubjectOf } from '../kind.ts'
import { sqlPath } from './paths.ts'
import type { DruidConfig } from './section.ts'

type Subject = SubjectOf<DruidConfig>

export async function examineDruid(subject: Subject, database: ConnectedDatabase): Promise<Finding[]> {
  const answerTo = (asking: Promise<DatabaseAnswer>) => asking.catch(() => noAnswer)
  const [sql, health, status, properties] = await Promise.all([
    answerTo(database.post(sqlPath, { query: countSources })),
    answerTo(database.get('/status/health')),
    answerTo(database.get('/status')),
    answerTo(database.get('/status/properties')),
  ])
  return [
    ...sqlFindings(subject, sql),
    ...stateFindings(subject, health, objectIn(status)),
    ...timeoutFindings(subject, objectIn(properties)),
  ]
}

const noAnswer: DatabaseAnswer = { status: 0, text: '', date: undefined }

/** The values of the literals show the zone of SQL without an explicit one. */
const winter = Date.UTC(2026, 0, 1)
const summer = Date.UTC(2026, 6, 1)
const countSources = `SELECT COUNT(*) AS n, TIMESTAMP '2026-01-01 00:00:00' AS winter,
TIMESTAMP '2026-07-01 00:00:00' AS summer FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'druid'`

function sqlFindings(subject: Subject, { status, text }: DatabaseAnswer): Finding[] {
  const { name } = subject
  const about = found(`SQL ${name}`)
  const row = status === 200 ? firstRow(text) : undefined
  if (row !== undefined) {
    const sources = counted(Number(row['n']), 'data source')
    return [about.ok(`SQL answers; there are ${sources}.`), ...zoneFindings(subject, row)]
  }
  if (status === 401 || status === 403) return [about.skip(`SQL requires credentials (status ${status}).`)]
  const remedy =
    'Name a Broker or a Router, and look for druid.sql.enable: without SQL, only native queries work.'
  return [about.warn(`SQL does not answer${status === 0 ? '' : ` (status ${status})`}.`, remedy)]
}

function firstRow(text: string): Fields | undefined {
  const [row] = /^\[(\{[^{}]*\})\]\s*$/.exec(text)?.slice(1) ?? []
  return row === undefined ? undefined : objectIn({ status: 200, text: row, date: undefined })
}

/** Literals that are read in another zone than we think would mean other instants. */
function zoneFindings({ name, own }: Subject, row: Fields): Finding[] {
  const zone = zoneOf(own.sqlTimeZone)!
  const isSo = (local: number, column: string): boolean =>
    instantOf(zone, local) === Date.parse(textOf(row, column))
  if (isSo(winter, 'winter') && isSo(summer, 'summer')) return []
  const sentence = `SQL that names no zone is read in another one than ${zone.name}: midnight is ${oneLine(textOf(row, 'winter'))}.`
  const remedy = `Set backends.${name}.sqlTimeZone to the value of druid.sql.planner.sqlTimeZone of the Brokers, and purge.`
  return [found(`zone ${name}`).fail(sentence, remedy)]
}

function stateFindings({ name }: Subject, health: DatabaseAnswer, status: Fields | undefined): Finding[] {
  const about = found(`state ${name}`)
  if (health.status === 200 && health.text.trim() !== 'true') {
    return [about.warn('It reports that it is not healthy.', 'Look at its log.')]
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

const textOf = (members: Fields | undefined, name: string): string =>
  typeof members?.[name] === 'string' ? members[name] : ''

/** Its own default. */
const usualTimeoutMs = 300_000

/** Of a Broker: those of a Router are not those of the Brokers behind it. */
function timeoutFindings(
  { name, upstreamTimeoutMs: ours }: Subject,
  properties: Fields | undefined,
): Finding[] {
  if (!textOf(properties, 'druid.service').includes('broker')) return []
  const about = found(`settings ${name}`)
  const key = 'druid.server.http.defaultQueryTimeout'
  const theirs = Number(textOf(properties, key) || usualTimeoutMs)
  if (Number.isNaN(theirs)) return []
  const text = theirs === 0 ? 'without end' : `for up to ${formatDuration(theirs)}`
  const sentence = `The database works on a query ${text} (${oneLine(key)})`
  if (theirs > 0 && theirs <= ours) return [about.ok(`${sentence}.`)]
  const remedy = `Set limits.upstreamTimeout above that where queries are slow, or a timeout in their context.`
  return [
    about.warn(`${sentence}, and Windowpane gives up after ${formatDuration(ours)} of silence.`, remedy),
  ]
}

function objectIn({ status, text }: DatabaseAnswer): Fields | undefined {
  const value = status === 200 ? jsonIn(text) : undefined
  return isObject(value) ? value : undefined
}
