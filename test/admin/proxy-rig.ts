/** A proxy in front of a scripted database, its telemetry, and an admin listener, on a clock that only the test moves. */
import type { TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { Budget } from '../../src/core/budget.ts'
import { FlavourWatch } from '../../src/engine/http/flavour.ts'
import { IntervalCache } from '../../src/engine/interval-cache.ts'
import { Marks } from '../../src/engine/marks.ts'
import { type AdminOptions, startAdmin } from '../../src/proxy/admin/admin.ts'
import { explainWire } from '../../src/proxy/admin/explain.ts'
import { runThrough } from '../../src/proxy/admin/run.ts'
import { commonOf } from '../../src/proxy/assembly/common.ts'
import { openListener } from '../../src/proxy/front/listener.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { Handler } from '../../src/proxy/request/handler.ts'
import type { Settings } from '../../src/proxy/request/settings.ts'
import { HttpUpstream } from '../../src/proxy/upstream/upstream.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'

export const NOW = Date.UTC(2026, 1, 1)

export interface ProxyRig {
  readonly clock: FakeClock
  readonly telemetry: Telemetry
  readonly lines: string[]
  /** The data listener, and the admin listener. */
  readonly url: string
  readonly admin: string
  readonly upstream: ScriptedUpstream
  settings: Settings
}

const policy = ladder()
const terms = { mode: 'on', identity: 'separate', policy, maxStaleMs: defaultLimits.maxStaleMs } as const

/** An admin listener without state, open and read-only. */
export const adminDefaults = {
  listen: '127.0.0.1:0',
  version: '1.2.3',
  token: () => undefined,
  allowsWrites: () => false,
  unready: () => [],
  status: () => ({}),
  config: () => ({}),
  reload: async () => ({ isOk: true, message: 'reloaded' }),
} satisfies Partial<AdminOptions>

export async function startProxyRig(t: TestContext, changed: Partial<AdminOptions> = {}): Promise<ProxyRig> {
  const clock = fakeClock(NOW)
  const lines: string[] = []
  const write = (line: string) => lines.push(line) > 0
  const telemetry = new Telemetry({
    clock,
    version: '1.2.3',
    log: { level: () => 'info', format: () => 'json', write },
  })
  const upstream = await startScriptedUpstream(t)
  const proxy = { clock, telemetry, lines, upstream, settings: { terms, rules: [] } as Settings }
  const data = await startData(t, proxy)
  const admin = await startAdmin({
    ...{ ...adminDefaults, clock, telemetry },
    status: () => ({ backends: [{ name: 'main' }] }),
    config: (mode) => ({ mode }),
    databases: () => new Map([['main', { queryPath: () => '/api/v1/query_range', ...data }]]),
    ...changed,
  })
  t.after(async () => {
    const closed = admin.close()
    await clock.advance(60_000)
    await closed
  })
  return Object.assign(proxy, { url: data.url, admin: admin.url })
}

async function startData(t: TestContext, proxy: Omit<ProxyRig, 'url' | 'admin'>) {
  const { clock, telemetry } = proxy
  const budget = new Budget(defaultLimits.memoryBytes)
  const { retentionMs, maxBucketsPerShape } = defaultLimits
  const store = memoryStore({ clock, budget, retentionMs, maxBucketsPerShape })
  const backend = prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: defaultLimits.maxBuckets })
  const via = 'windowpane-test'
  const url = new URL(proxy.upstream.url)
  const upstream = new HttpUpstream({ url, clock, connections: 8, idleTimeoutMs: 60_000, via })
  const flavour = new FlavourWatch(backend.flavour, upstream, clock)
  await flavour.ask([])
  const hooks = telemetry.hooks('main')
  const parts = { ...defaultLimits, name: 'main', backend, store, policy, upstream, clock, budget, ...hooks }
  const marks = new Marks({ clock, retentionMs }).of('main')
  const cache = new IntervalCache({ ...parts, marks, coalescing: true })
  const settings = () => proxy.settings
  const handler = new Handler({
    ...parts,
    cache,
    flavour,
    ...commonOf({ limits: defaultLimits, clock, parts: { budget, via } }),
    settings,
  })
  const listener = await openListener(
    { address: '127.0.0.1:0', limits: defaultLimits, clock },
    (request, response) => void handler.handle(request, response),
  )
  t.after(async () => {
    const closed = listener.close()
    await clock.advance(defaultLimits.drainMs)
    await closed
    await upstream.close()
  })
  return {
    url: listener.url,
    explain: (wire: Parameters<typeof explainWire>[1]) =>
      explainWire({ backend, flavour, cache, settings, clock }, wire),
    run: runThrough({ url: listener.url }, clock),
  }
}

const minute = 60_000

/** The form of a query for so many minutes up to an instant. */
export const form = (minutes: number, end = NOW, query = 'up'): string =>
  new URLSearchParams({
    query,
    start: String(end / 1000 - ((minutes - 1) * minute) / 1000),
    end: String(end / 1000),
    step: '60',
  }).toString()
