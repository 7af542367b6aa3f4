/**
 * The published scenario on a real Druid: a dashboard of 26 charts and 64 queries, 30 viewers, a refresh every 10 s, windows of
 * 3 hours in minutes, without and with Windowpane; every figure beside the published one. Windows that end at now are tried
 * with `edges` exact, now and whole.
 * `npm run bench:druid-dashboard -- --minutes 2 --viewers 30`: how long each part takes, and how many look.
 */
import { parseArgs } from 'node:util'
import { request } from 'undici'
import { systemClock } from '../../src/core/clock.ts'
import { startDruidFixture } from '../../test/druid/fixture.ts'
import { isUnavailable } from '../../test/servers/availability.ts'
import { sumMetric } from '../../test/servers/metrics-text.ts'
import { freePort } from '../../test/servers/ports.ts'
import { startNode } from '../node-process.ts'
import { fill, shapeOfDashboard, windowMs } from './charts.ts'
import { type Relay, startRelay } from './relay.ts'
import { look, percentile, type Seen } from './viewers.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, viewers: { type: 'string', default: '30' } },
})
const viewers = Number(values.viewers)
const minute = 60_000
const forMs = Number(values.minutes) * minute

type Ends = (now: number) => number
/** A window that ends now cuts two buckets: no client requests these parts again. */
const atNow: Ends = (now) => now
/** A window of whole minutes includes the current one as far as it is. */
const withTheMinute: Ends = (now) => Math.ceil(now / minute) * minute

interface Part {
  readonly seen: Seen
  readonly database: ReturnType<Relay['taken']>
}

interface ProxiedPart extends Part {
  /** The share of the bytes of answers, by Windowpane's own count. */
  readonly fromCache: number
}

async function part(relay: Relay, url: string, endOf: Ends): Promise<Part> {
  relay.taken()
  const seen = await look({ url, viewers, forMs, endOf })
  return { seen, database: relay.taken() }
}

async function proxied(relay: Relay, endOf: Ends, edges = 'exact'): Promise<ProxiedPart> {
  const admin = `127.0.0.1:${await freePort()}`
  const proxy = await startNode('0,1', [
    'src/cli/main.ts',
    relay.url,
    ...['--listen', '127.0.0.1:0', '--admin.listen', admin, '--telemetry.log-level=warn'],
    `--backends.main.edges=${edges}`,
  ])
  const measured = await part(relay, proxy.url, endOf)
  const metrics = await (await request(`http://${admin}/-/metrics`)).body.text()
  proxy.child.kill()
  const bytes = (source: string) => sumMetric(metrics, 'windowpane_result_bytes_total', { source })
  return { ...measured, fromCache: bytes('cache') / (bytes('cache') + bytes('origin')) }
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const change = (from: number, to: number): string => `${(100 * (to / from - 1)).toFixed(0)} %`
const line = (...cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`)

function hits({ queries, outcomes }: Seen): { any: number; full: number } {
  const [hit, partial] = [outcomes.get('hit') ?? 0, outcomes.get('partial') ?? 0]
  return { any: (hit + partial) / queries, full: hit / queries }
}

const rateOf = ({ seen }: Part): string => `${((1000 * seen.queries) / forMs).toFixed(0)}/s`

function show(direct: Part, parts: readonly (readonly [string, ProxiedPart])[]): void {
  const row = (name: string, published: string, cell: (part: ProxiedPart) => string) =>
    line(name, published, ...parts.map(([, each]) => cell(each)))
  line('figure', 'Netflix', ...parts.map(([name]) => `Windowpane, ${name}`))
  line('---', '---', ...parts.map(() => '---'))
  row('queries with any hit', '82 %', ({ seen }) => percent(hits(seen).any))
  row('queries with a full hit', 'not published', ({ seen }) => percent(hits(seen).full))
  row('result data from the cache', '84 %', ({ fromCache }) => percent(fromCache))
  row('queries that reach Druid', '−33 %', ({ seen, database }) => change(seen.queries, database.queries))
  for (const [name, share, published] of [
    ['p50', 0.5, 'not published'],
    ['p90', 0.9, '−66 %'],
    ['p99', 0.99, 'not published'],
  ] as const) {
    const before = percentile(direct.seen.times, share)
    row(`${name} of a query`, published, ({ seen }) => {
      const after = percentile(seen.times, share)
      return `${before.toFixed(1)} → ${after.toFixed(1)} ms, ${change(before, after)}`
    })
  }
  row('result bytes of Druid', '14 × fewer in some cases', ({ seen, database }) => {
    const each = (of: { bytes: number }, queries: number): number => of.bytes / queries
    return `${(each(direct.database, direct.seen.queries) / each(database, seen.queries)).toFixed(1)} × fewer`
  })
  row(
    'queries asked; refreshes that came too late',
    '192/s',
    (each) => `${rateOf(each)}; ${each.seen.skipped}`,
  )
  console.log(`\ndirect: ${rateOf(direct)}; ${direct.seen.skipped} refreshes came too late`)
  for (const [name, { seen }] of parts) console.log(`${name}: ${JSON.stringify([...seen.outcomes])}`)
}

const { charts, queries, minutely } = shapeOfDashboard
console.log(
  `${charts} charts, ${queries} queries (${minutely} by minute), ${viewers} viewers, ${values.minutes} min each\n`,
)
const druid = await startDruidFixture()
if (isUnavailable(druid)) throw new Error(druid.unavailable)
const now = systemClock.now()
await fill(druid, { from: now - windowMs - 2 * minute, to: now + 6 * forMs + 20 * minute })
const relay = await startRelay(druid.brokerUrl)
// Druid's first answers are its slowest: the first measurement must not pay for all.
await look({ url: relay.url, viewers: 1, forMs: 20_000, endOf: atNow })
const direct = await part(relay, relay.url, atNow)
show(direct, [
  ['windows that end at now', await proxied(relay, atNow)],
  ['`edges: now`', await proxied(relay, atNow, 'now')],
  ['`edges: whole`', await proxied(relay, atNow, 'whole')],
  ['windows that end with the minute', await proxied(relay, withTheMinute)],
])
relay.close()
await druid.stop()
process.exit(0)
