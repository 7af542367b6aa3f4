/** The requests to Druid that are cached as a whole: read-only ones that cannot be cut into buckets of time. */
import { BytesMemo, Memo } from '../../core/memo.ts'
import type { WireRequest } from '../backend.ts'
import type { WholeAnswers, WholePlan } from '../whole-answers.ts'
import { nativePath } from './paths.ts'
import { type DruidOptions, isDruidQuery, type Planner } from './plan.ts'
import type { Bypass } from './reasons.ts'
import { type BodyKind, bodyKindOf } from './sql-body.ts'
import { isWholeAnswer } from './whole-ending.ts'
import { endpoints } from './whole-endpoints.ts'
import { readWholeNative } from './whole-native.ts'
import type { Ending, WholeReading } from './whole-reading.ts'
import { readWholeSql } from './whole-sql.ts'
import { bodyTextOf, bufferOf, refuseWire, shapeWith } from './wire.ts'

interface DruidWholePlan extends WholePlan {
  readonly ending: Ending
}

type Read = (request: WireRequest) => WholeReading | Bypass

export function wholeAnswers(options: DruidOptions, planner: Planner): WholeAnswers {
  const readNative = nativeReader(options)
  const readSql = sqlReader(options)
  return {
    endpoints,
    claims: isDruidQuery,
    plan(request, now): DruidWholePlan | undefined {
      if (!isDruidQuery(request.method, request.path)) return undefined
      const query = planner.parse(request)
      if (query === undefined) return undefined
      const ranged = 'bypass' in query ? query : planner.plan(query, now)
      // A query that can be cut is never cached as a whole, and a query with too many buckets to be cut is too large
      // for that, too.
      if (!('bypass' in ranged)) return undefined
      const isNative = request.path.replace(/\/$/, '') === nativePath
      if (isNative && ranged.bypass === 'too_many_buckets') return undefined
      const reading = (isNative ? readNative : readSql)(request)
      if ('bypass' in reading) return undefined
      return { ...reading, text: shapeWith(reading.text, request), request }
    },
    isComplete: (body, plan, response) => isWholeAnswer((plan as DruidWholePlan).ending, body, response),
  }
}

/** Longer requests are read each time. */
const longestRemembered = 16 << 10

function nativeReader({ ignoredContext }: DruidOptions): Read {
  const ignored = new Set(ignoredContext)
  const read = (bytes: Buffer): WholeReading | Bypass => {
    const text = bodyTextOf({ body: bytes })
    return typeof text === 'string' ? readWholeNative(text, ignored) : text
  }
  const memo = new BytesMemo({ maxEntries: 4_000, maxBytes: 4 << 20 }, read)
  return (request) => {
    const bytes = bufferOf(request.body)
    return refuseWire(request) ?? (bytes.length <= longestRemembered ? memo.get(bytes) : read(bytes))
  }
}

function sqlReader({ ignoredContext, sqlTimeZone = 'UTC' }: DruidOptions): Read {
  const options = { ignoredContext: new Set(ignoredContext), sqlTimeZone }
  const memoOf = (kind: BodyKind) =>
    new Memo({ maxTexts: 4_000, maxCharacters: 4 << 20 }, (text) => readWholeSql(kind, text, options))
  const memos = { json: memoOf('json'), text: memoOf('text'), form: memoOf('form') }
  return (request) => {
    const kind = bodyKindOf(request)
    if (typeof kind !== 'string') return kind
    const text = bodyTextOf(request)
    if (typeof text !== 'string') return text
    return text.length <= longestRemembered ? memos[kind].get(text) : readWholeSql(kind, text, options)
  }
}
