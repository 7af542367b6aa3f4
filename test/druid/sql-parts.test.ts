/**
 * Every form of SQL with every way to write bounds, on a real Druid: that the bounds are understood as Druid understands
 * them, and that the answers to parts, put together, are the answer to the whole, byte by byte.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WireRequest } from '../../src/backends/backend.ts'
import { clip } from '../../src/backends/druid/buckets.ts'
import type { DruidPlan } from '../../src/backends/druid/druid-plan.ts'
import type { Bypass } from '../../src/backends/druid/reasons.ts'
import { createSqlPlanner } from '../../src/backends/druid/sql.ts'
import { requireServer } from '../data/fixture.ts'
import { type Random, seededRandom } from '../fidelity/random.ts'
import { ask } from '../servers/druid/ask.ts'
import { startDruidFixture } from './fixture.ts'
import {
  boundStyles,
  isUnequivocal,
  lengthOf,
  type Span,
  type SqlForm,
  sqlForms,
  type WrittenBounds,
} from './sql-forms.ts'

const planner = createSqlPlanner({ maxBuckets: 200_000 })
const seed = Number(process.env['WINDOWPANE_SEED'] || 6)
const pairs = sqlForms.length * Object.keys(boundStyles).length
/** Of every so many pairs of a form and a style one is compared. */
const stride = Math.max(1, Math.floor(pairs / Number(process.env['WINDOWPANE_COMPARISONS'] || 300)))

interface Asked {
  readonly bounds: WrittenBounds
  readonly body: Readonly<Record<string, unknown>>
  readonly plan: DruidPlan
}

test('SQL on a real Druid', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const url = `${druid.brokerUrl}/druid/v2/sql`

  for (const [styleNumber, style] of Object.keys(boundStyles).entries()) {
    await t.test(`bounds as ${style}`, async () => {
      for (const [formNumber, form] of sqlForms.entries()) {
        if ((formNumber + styleNumber) % stride > 0) continue
        const random = seededRandom(seed, styleNumber * sqlForms.length + formNumber)
        const zone = String(form.context?.['sqlTimeZone'] ?? 'UTC')
        const asked = plan(form, boundStyles[style]!(windowOf(form, zone, random), zone))
        await comparePlans(url, asked)
        await compareParts(url, asked, random)
      }
    })
  }
})

/** Whole seconds, mostly not where buckets begin; sometimes whole hours. */
function windowOf(form: SqlForm, zone: string, random: Random): Span {
  const span = random.pick(form.spans)
  const unit = random.chance(0.3) ? 3_600_000 : 1000
  const length = Math.ceil(((0.1 + random.next()) * lengthOf(form)) / unit) * unit
  const latest = Math.max(span.from, span.to - length)
  const from = Math.floor(random.int(span.from, latest) / unit) * unit
  const window = { from, to: from + length }
  return isUnequivocal(window, zone) ? window : windowOf(form, zone, random)
}

function plan(form: SqlForm, bounds: WrittenBounds): Asked {
  const { where, parameters, now } = bounds
  const query = form.sql.replace('{time}', where)
  const { context, resultFormat } = form
  const body = { query, resultFormat, context, parameters }
  const planned = planner(requestOf(body), now ?? Date.UTC(2027, 0, 1))
  assert.ok(!isBypass(planned), `${query}: ${JSON.stringify(planned)}`)
  const pinned = now === undefined ? {} : { sqlCurrentTimestamp: new Date(now).toISOString() }
  return { bounds, body: { ...body, context: { ...context, ...pinned } }, plan: planned }
}

const isBypass = (planned: DruidPlan | Bypass): planned is Bypass => 'bypass' in planned

const requestOf = (body: object): WireRequest => ({
  method: 'POST',
  path: '/druid/v2/sql',
  search: '',
  headers: ['content-type', 'application/json'],
  body: Buffer.from(JSON.stringify(body)),
})

interface Explained {
  readonly PLAN: string
}

/** Druid's own reading of the bounds, and of the narrowed query, which must be intervals and no filter. */
async function comparePlans(url: string, { body, plan: { spans, rewrite }, bounds }: Asked): Promise<void> {
  const isOpen = !/<|BETWEEN|TIME_IN/.test(bounds.where)
  const expected = isOpen ? [{ from: spans[0]!.from, to: null }] : spans
  const whole = await explain(url, body)
  assert.deepEqual(whole.spans, expected, JSON.stringify(body))
  const narrowed = await explain(url, JSON.parse(Buffer.from(rewrite(spans)).toString()))
  assert.deepEqual(narrowed, whole, JSON.stringify(body))
}

async function explain(
  url: string,
  body: Readonly<Record<string, unknown>>,
): Promise<{ spans: object[]; filter: string }> {
  const { status, text } = await ask(url, {
    ...body,
    resultFormat: 'object',
    query: `EXPLAIN PLAN FOR ${body['query']}`,
  })
  assert.equal(status, 200, `${text} ${JSON.stringify(body)}`)
  const [{ PLAN }] = JSON.parse(text) as [Explained]
  const query = innermost(JSON.parse(PLAN)[0].query)
  const spans = query.intervals.intervals.map((interval: string) => {
    const [from, to] = interval.split('/')
    return { from: Date.parse(from!), to: to!.startsWith('146140482') ? null : Date.parse(to!) }
  })
  return { spans, filter: JSON.stringify(query.filter ?? null) }
}

interface NativeQuery {
  readonly dataSource: DataSource
  readonly intervals: { readonly intervals: readonly string[] }
  readonly filter?: unknown
}

interface DataSource {
  readonly type: string
  readonly query: NativeQuery
  readonly left: DataSource
}

/** Exact counts of distinct values are planned as queries of queries, and as joins of them. */
function innermost(query: NativeQuery): NativeQuery {
  const { dataSource } = query
  const source = dataSource.type === 'join' ? dataSource.left : dataSource
  return source.type === 'query' ? innermost(source.query) : query
}

async function compareParts(url: string, { body, plan }: Asked, random: Random): Promise<void> {
  const whole = await textOf(url, body)
  const parts: string[] = []
  for (const intervals of cut(plan, random)) {
    const narrowed = plan.rewrite(clip(plan.grid, plan.spans, intervals))
    parts.push(rowsOf(plan, await textOf(url, JSON.parse(Buffer.from(narrowed).toString()))))
  }
  if (plan.isDescending) parts.reverse()
  const separator = plan.format.container === 'list' ? ',' : ''
  const joined = parts.filter((rows) => rows !== '').join(separator)
  assert.equal(joined, rowsOf(plan, whole), JSON.stringify(body))
}

async function textOf(url: string, body: object): Promise<string> {
  const { status, text } = await ask(url, body)
  assert.equal(status, 200, `${text} ${JSON.stringify(body)}`)
  return text
}

/** The requested buckets, in a few runs. */
function cut({ whole, edges, window }: DruidPlan, random: Random): { from: number; to: number }[][] {
  const asked = [...whole, ...(edges?.buckets ?? [])].sort((a, b) => a.from - b.from)
  const cuts = [
    window.from,
    random.int(window.from, window.to),
    random.int(window.from, window.to),
    window.to,
  ]
  cuts.sort((a, b) => a - b)
  return [0, 1, 2].flatMap((i) => {
    const [from, to] = [cuts[i]!, cuts[i + 1]!]
    const runs = asked.map((run) => ({ from: Math.max(run.from, from), to: Math.min(run.to, to) }))
    const inside = runs.filter((run) => run.from < run.to)
    return inside.length === 0 ? [] : [inside]
  })
}

/** The rows of an answer, without the text around them. */
function rowsOf({ format }: DruidPlan, text: string): string {
  if (format.container === 'list') {
    assert.ok(text.startsWith('[') && text.endsWith(']\n'), text)
    return text.slice(1, -2)
  }
  if (text === '\n' || text === '\n\n') return ''
  assert.ok(text.endsWith('\n\n'), text)
  return text.slice(0, -1)
}
