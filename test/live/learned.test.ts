/**
 * TTLs are learned from a real Prometheus that receives samples late: young buckets change, old ones do not, and the
 * curve shows it. The next request sees an announced backfill.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { ttlDatabasesOf } from '../../src/cli/admin.ts'
import { startAdmin } from '../../src/proxy/admin/admin.ts'
import type { BackendTtl } from '../../src/proxy/admin/ttl.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { learned } from '../../src/ttl/learned/learned-policy.ts'
import type { TtlClass } from '../../src/ttl/ttl-report.ts'
import { adminDefaults } from '../admin/proxy-rig.ts'
import { runToEnd } from '../cli/child.ts'
import { requireServer } from '../data/fixture.ts'
import { askPlainly } from '../proxy/client.ts'
import { type Prometheus, startPrometheus } from '../servers/prometheus.ts'
import { rangeText } from '../servers/query.ts'
import { remoteWrite } from '../servers/remote-write.ts'
import { until } from '../wait.ts'
import { Asker } from './asker.ts'
import { bucketsOf } from './truth.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const start = Date.UTC(2026, 0, 15, 12)
const watched = 3 * hour
const refresh = 30 * second
const scrape = 15 * second
const query = 'sum(count_over_time(late[1m]))'

/** When samples were taken, and when they arrive: up to 12 minutes late, two on average. In order of arrival. */
function lateSamples(): { readonly t: number; readonly at: number }[] {
  const { random } = fakeClock()
  const delay = () => Math.min(12 * minute, -2 * minute * Math.log(1 - random()))
  const instants = Array.from({ length: watched / scrape }, (_, i) => start + i * scrape)
  return instants.map((t) => ({ t, at: t + delay() })).sort((a, b) => a.at - b.at)
}

const write = (database: Prometheus, instants: readonly number[]): Promise<void> => {
  const samples = instants.toSorted((a, b) => a - b).map((t) => ({ t, value: 1 }))
  return remoteWrite(database.url, [{ labels: { __name__: 'late' }, samples }])
}

interface Proxy {
  readonly server: ProxyServer
  readonly admin: string
}

async function startProxy(t: TestContext, database: Prometheus, clock: FakeClock): Promise<Proxy> {
  const policy = learned({ staleness: 0.05 })
  const terms = { mode: 'on', identity: 'separate', policy, maxStaleMs: defaultLimits.maxStaleMs } as const
  const backend = prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: defaultLimits.maxBuckets })
  const upstream = { urls: [database.url] }
  const server = await startServer({
    ...{ listen: '127.0.0.1:0', limits: defaultLimits, clock },
    databases: [{ name: 'main', backend, upstream, settings: () => ({ terms, rules: [] }) }],
  })
  const log = {
    level: () => 'silent' as const,
    format: () => 'json' as const,
    write: () => true,
  }
  const admin = await startAdmin({
    ...{ ...adminDefaults, clock, allowsWrites: () => true },
    telemetry: new Telemetry({ clock, version: '1', log }),
    databases: () => new Map(),
    ttl: () => ttlDatabasesOf(server),
    purge: server.purge,
  })
  t.after(async () => {
    const closed = Promise.all([admin.close(), server.close()])
    await clock.advance(defaultLimits.drainMs)
    await closed
  })
  return { server, admin: admin.url }
}

/** The last two hours, as a viewer sees them. */
const rangeAt = (now: number) => ({ query, start: now - 2 * hour, end: now, stepMs: minute })

/** Ages in seconds. */
const classesIn = ({ classes }: BackendTtl, from: number, to: number): TtlClass[] =>
  classes.filter(({ ageFromS, ageToS }) => ageFromS !== null && ageFromS >= from && (ageToS ?? to + 1) <= to)

function assertFallingWithAge(report: BackendTtl): void {
  const [young, old] = [classesIn(report, 0, 240), classesIn(report, 1680, 6720)]
  const shown = JSON.stringify([...young, ...old], ['ageFromS', 'rate', 'observations', 'ttlS', 'source'])
  assert.deepEqual([young.length, old.length], [4, 4])
  for (const { source, observations } of young) assert.ok(source === 'backend' && observations > 10, shown)
  for (const { observations } of old) assert.ok(observations > 0, shown)
  const [slowest, fastest] = [
    Math.min(...young.map(({ rate }) => rate!)),
    Math.max(...old.map(({ rate }) => rate!)),
  ]
  assert.ok(slowest > 10 * fastest, shown)
  for (const { ttlS } of old) assert.ok(ttlS > young[0]!.ttlS, shown)
}

test('late data is learned by age, and an announced backfill is seen at once', async (t) => {
  const database = requireServer(t, await startPrometheus({ outOfOrderWindow: '1d' }))
  if (database === null) return
  t.after(() => database.stop())
  const clock = fakeClock(start)
  const { server, admin } = await startProxy(t, database, clock)
  const asker = new Asker(server.url)
  t.after(() => asker.close())
  const ask = async () => bucketsOf((await asker.ask(rangeAt(clock.now()))).body)
  const truth = async () => bucketsOf(await rangeText(database.url, rangeAt(clock.now())))

  await write(
    database,
    Array.from({ length: (2 * hour) / scrape }, (_, i) => start - (i + 1) * scrape),
  )
  const arriving = lateSamples()
  while (clock.now() < start + watched) {
    const due = arriving.findIndex(({ at }) => at > clock.now())
    if (due > 0)
      await write(
        database,
        arriving.splice(0, due).map(({ t }) => t),
      )
    await ask()
    await clock.advance(refresh)
  }
  const { out, err } = await runToEnd(t, ['ttl', '--json', '--admin', admin])
  assert.equal(err, '')
  assertFallingWithAge(JSON.parse(out))

  // Background queries in progress could see the next rewrite. While no time passes, none begins.
  await until(() => server.databases[0]!.figures().flights === 0)
  const before = await ask()
  const [from, to] = [clock.now() - 40 * minute, clock.now() - 20 * minute]
  await write(
    database,
    Array.from({ length: 80 }, (_, i) => from + i * scrape + 7 * second),
  )
  assert.deepEqual(await ask(), before)
  const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  const body = JSON.stringify({ backend: 'main', source: 'late', ...times })
  const marked = await askPlainly(admin, '/-/changed', { method: 'POST', body })
  assert.deepEqual(JSON.parse(marked.body.toString()), { marks: 1 })
  const [shown, said] = [await ask(), await truth()]
  for (let at = from + minute; at <= to; at += minute) {
    assert.equal(shown.get(at), said.get(at))
    assert.notEqual(shown.get(at), before.get(at))
  }
})
