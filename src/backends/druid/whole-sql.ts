/**
 * SQL requests whose answers are cached as a whole: everything that the answer depends on, as one text, and its data
 * sources.
 */
import { sqlPath } from './paths.ts'
import type { Bypass } from './reasons.ts'
import { type BodyKind, readBody, type SqlBody } from './sql-body.ts'
import { readBounds } from './sql-bounds.ts'
import { placeParameters, readSession, type Session, type SqlOptions } from './sql-question.ts'
import type { Reading } from './sql-reading.ts'
import { spanOf, type WholeReading } from './whole-reading.ts'
import { readWholeStatement, type WholeStatement } from './whole-statement.ts'

export function readWholeSql(kind: BodyKind, text: string, options: SqlOptions): WholeReading | Bypass {
  const body = readBody(kind, text)
  if ('bypass' in body) return body
  const statement = readWholeStatement(body.query)
  if ('bypass' in statement) return statement
  const session = readSession(body, statement, options)
  if ('bypass' in session) return session
  if (session.isLimited && !session.kept.has('sqlOuterLimit'))
    return { bypass: 'limit', detail: 'sqlOuterLimit' }
  const parameters = placeParameters(body, statement)
  if ('bypass' in parameters) return parameters
  return {
    endpoint: statement.isDistinct ? 'distinct' : 'totals',
    text: textOf(body, statement, session),
    query: body.query,
    ...readsOf(statement, session, parameters),
    ending: body.format,
    queryId: session.queryId,
  }
}

function readsOf(
  { plain, isOutsideData }: WholeStatement,
  { zone }: Session,
  parameters: Reading['parameters'],
): Pick<WholeReading, 'sources' | 'knowsAllSources' | 'span'> {
  if (plain === undefined) return { sources: [], knowsAllSources: false }
  const known = { sources: [plain.table.name], knowsAllSources: true }
  if (isOutsideData) return known
  // Without a word for the current time no bound is relative: the instant of reading does not matter.
  const bounds = readBounds({ statement: plain, zone, parameters }, plain.where)
  return { ...known, ...spanOf(bounds.at(0) ?? []) }
}

/** Spaces, comments and a semicolon at the end do not show in an answer; everything else may. */
function textOf(
  { query, others, parameters }: SqlBody,
  { tokens, select }: WholeStatement,
  { kept, zone, terms }: Session,
): string {
  const asked = tokens.slice(select, -1)
  if (asked.at(-1)?.text === ';') asked.pop()
  const words = asked.map(({ from, to }) => query.slice(from, to)).join(' ')
  const given = parameters.map(({ text }) => text)
  return JSON.stringify([sqlPath, words, others, given, [...kept], zone.name, terms])
}
