/** The dashboard, the alerts and the examples of the reference query existing metrics, and Prometheus answers them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import type { Family } from '../../src/telemetry/exposition.ts'
import { families } from '../../src/telemetry/families.ts'
import type { NamedStore } from '../../src/telemetry/store-families.ts'
import { requireServer, startFixture } from '../data/fixture.ts'
import type { Prometheus } from '../servers/prometheus.ts'
import { eventually } from '../wait.ts'
import { metricsIn, readDashboard, readRules, withVariables } from './dashboard.ts'
import { result, startWatched } from './watched.ts'

const { panels, ...dashboard } = await readDashboard()
const rules = await readRules()
const shown = panels.filter(({ type }) => type !== 'row')
const all: readonly Family[] = Object.values(families)

/** Metrics that need no daily attention, and why. */
const unused: ReadonlyMap<string, string> = new Map([
  ['windowpane_segments_watched', 'a number without an expected value; /-/status has it'],
  ['windowpane_trace_spans_sent_total', 'only where traces are sent, and the collector counts them too'],
  ['windowpane_trace_spans_dropped_total', 'the same'],
])

const familyOf = (metric: string): Family | undefined =>
  all.find(({ name, type }) =>
    type === 'histogram' ? new RegExp(`^${name}_(bucket|sum|count)$`).test(metric) : name === metric,
  )

test('every panel has a description, a place of its own, and queries the chosen data source', () => {
  assert.equal(dashboard.uid, 'windowpane')
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  const taken = new Set<string>()
  for (const { title, description, datasource, targets, gridPos } of shown) {
    assert.ok((description ?? '').length > 20, `${title} has no description`)
    assert.match(datasource!.uid, /^\$\{datasource\}$/, title)
    assert.ok(targets!.length > 0, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(x < 24 && !taken.has(`${x} ${y}`), `${title} lies over another panel`)
        taken.add(`${x} ${y}`)
      }
  }
})

test('every queried metric exists, and every metric that exists is shown', () => {
  const queries = [
    ...shown.flatMap(({ targets }) => targets!.map(({ expr }) => withVariables(expr, '1m'))),
    ...rules.map(({ expr }) => expr),
    ...all.flatMap(({ example }) => example ?? []),
  ]
  for (const query of queries) {
    const names = metricsIn(query)
    assert.ok(names !== undefined && names.length > 0, query)
    // `up` is of Prometheus itself.
    for (const name of names) assert.ok(name === 'up' || familyOf(name), `${name} in ${query}`)
  }
  const asked = shown.flatMap(({ targets }) =>
    targets!.flatMap(({ expr }) => metricsIn(withVariables(expr, '1m'))!),
  )
  const seen = new Set(asked.map((name) => familyOf(name)!.name))
  const dark = all.map(({ name }) => name).filter((name) => !seen.has(name))
  assert.deepEqual(dark, [...unused.keys()])
})

test('the variables find their values by metrics that exist', () => {
  const asked = dashboard.templating.list.flatMap(({ definition }) => definition ?? [])
  assert.equal(asked.length, 4)
  for (const definition of asked) {
    const metric = /^label_values\((\w+)/.exec(definition)?.[1]
    assert.ok(familyOf(metric ?? ''), definition)
  }
})

const began = systemClock.now()

interface Matrix {
  readonly values: readonly [number, string][]
}

/** Whether a query has a value at some time since the test began. */
async function isAnswered(prometheus: Prometheus, query: string): Promise<boolean> {
  const span = { start: String(began / 1000), end: String(systemClock.now() / 1000), step: '1' }
  const ranges = (await result(prometheus, '/api/v1/query_range', { query, ...span })) as Matrix[]
  await result(prometheus, '/api/v1/query', { query })
  return ranges.some(({ values }) => values.some(([, value]) => Number.isFinite(Number(value))))
}

test('with traffic, every panel and every example shows something, and every alert can be evaluated', async (t) => {
  const fixture = requireServer(t, await startFixture())
  if (fixture === null) return
  t.after(() => fixture.stop())
  const watched = requireServer(t, await startWatched(t, fixture.url))
  if (watched === null) return
  const { prometheus, outcomes, admin } = watched
  const kinds = new Set(outcomes.map((outcome) => outcome.split('/')[0]))
  assert.deepEqual(kinds, new Set(['miss', 'hit', 'partial', 'bypass', 'error']), outcomes.join(' '))
  for (const { title, targets } of shown) {
    for (const { expr } of targets!) {
      assert.ok(await isAnswered(prometheus, withVariables(expr, '1m')), `${title}: ${expr}`)
    }
  }
  for (const { example } of all) {
    if (example !== undefined) assert.ok(await isAnswered(prometheus, example), example)
  }
  for (const { expr } of rules) await isAnswered(prometheus, expr)
  const loaded = await eventually(
    () => fetchRules(prometheus),
    (each) => each.every(({ health }) => health !== 'unknown'),
  )
  assert.deepEqual(
    loaded.map(({ name, health }) => [name, health]),
    rules.map(({ alert }) => [alert, 'ok']),
  )
  // On a busy machine some writes may have been late; then the store is left alone for some seconds.
  const [memory, disk] = await eventually(
    () => storesIn(admin),
    ([, onDisk]) => onDisk?.state === 'ok',
  )
  assert.deepEqual([memory!.name, memory!.entries, disk!.name, disk!.entries], ['memory', 1, 'disk', 1])
  assert.deepEqual([disk!.engine, disk!.detail], ['lmdb', 'It is used.'])
})

interface StoreStatus extends NamedStore {
  readonly state: string
  readonly detail: string
}

async function storesIn(admin: string): Promise<readonly StoreStatus[]> {
  const response = await fetch(`${admin}/-/status`)
  return ((await response.json()) as { stores: StoreStatus[] }).stores
}

interface LoadedRule {
  readonly name: string
  /** `unknown` before the first evaluation. */
  readonly health: string
}

async function fetchRules(prometheus: Prometheus): Promise<readonly LoadedRule[]> {
  const response = await fetch(`${prometheus.url}/api/v1/rules`)
  const { data } = (await response.json()) as { data: { groups: { rules: LoadedRule[] }[] } }
  return data.groups.flatMap((group) => group.rules)
}
