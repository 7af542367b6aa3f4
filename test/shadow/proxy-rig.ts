/** Windowpane in shadow mode with its admin listener, in front of any database, on a clock of the test’s choice. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import type { Clock } from '../../src/core/clock.ts'
import { startAdmin } from '../../src/proxy/admin/admin.ts'
import { runThrough } from '../../src/proxy/admin/run.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import { defaultLimits, type Limits, limitsOf } from '../../src/proxy/limits.ts'
import type { Mode, Settings } from '../../src/proxy/request/settings.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { adminDefaults } from '../admin/proxy-rig.ts'
import { askPlainly } from '../proxy/client.ts'

export interface ShadowedProxy {
  readonly url: string
  readonly admin: string
  readonly memory: { readonly used: number }
  /** The configured settings; a new object is a reload. */
  settings: Settings
}

export interface Report {
  readonly backend: string
  readonly mode: Mode
  readonly comparisons: number
  readonly equal: number
  readonly explained: number
  readonly unexplained: number
  readonly skipped: Readonly<Record<string, number>>
  readonly verdict: string
  readonly sentence: string
  readonly wouldBe: { readonly hit: number; readonly partial: number; readonly miss: number }
  readonly mismatches: readonly ListedMismatch[]
}

export interface ListedMismatch {
  readonly id: string
  readonly cause: string
  readonly text: string
  readonly window: object
  readonly buckets: readonly object[]
  readonly cachedBytes: number
}

const policy = ladder()
const settledAgeMs = 3_600_000

export const settingsOf = (mode: Mode): Settings => ({
  terms: { mode, identity: 'separate', policy, maxStaleMs: defaultLimits.maxStaleMs },
  rules: [],
})

export interface ProxyRigOptions {
  readonly upstream: string
  readonly clock: Clock
  readonly limits?: Partial<Limits>
  readonly allowsWrites?: boolean
  /** Called while closing, so that pending timers run. */
  readonly passTime?: () => Promise<void>
}

export async function startShadowedProxy(t: TestContext, options: ProxyRigOptions): Promise<ShadowedProxy> {
  const { clock, upstream, allowsWrites = true } = options
  const telemetry = new Telemetry({
    clock,
    version: '1.2.3',
    log: { level: () => 'silent', format: () => 'json', write: () => true },
  })
  const own = { settings: settingsOf('shadow') }
  const proxy = await startServer({
    listen: '127.0.0.1:0',
    limits: limitsOf(options.limits),
    clock,
    telemetry,
    databases: [
      {
        name: 'main',
        backend: prometheus({ settledAgeMs, maxBuckets: defaultLimits.maxBuckets }),
        upstream: { urls: [upstream] },
        settings: () => own.settings,
      },
    ],
  })
  const [database] = proxy.databases
  const { backendRuntime } = database!
  const admin = await startAdmin({
    ...{ ...adminDefaults, clock, telemetry },
    allowsWrites: () => allowsWrites,
    databases: () =>
      new Map([
        [
          'main',
          {
            queryPath: () => '/api/v1/query_range',
            explain: backendRuntime.explain,
            run: runThrough({ url: proxy.url }, clock),
          },
        ],
      ]),
    shadow: { log: proxy.shadowLog, modes: new Map([['main', database!.modes]]) },
  })
  t.after(async () => {
    const closed = Promise.all([admin.close(), proxy.close()])
    await options.passTime?.()
    await closed
  })
  return Object.assign(own, { url: proxy.url, admin: admin.url, memory: proxy.memory })
}

export async function reportOf(admin: string): Promise<Report> {
  const answer = await askPlainly(admin, '/-/shadow')
  assert.equal(answer.status, 200)
  return JSON.parse(answer.body.toString()).backends[0]
}

/** Returns status and body; the body as a value where it is JSON. */
export async function postMode(admin: string, body: unknown): Promise<[number, unknown]> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await askPlainly(admin, '/-/mode', { method: 'POST', body: text })
  const said = answer.body.toString()
  return [answer.status, said.startsWith('{') ? JSON.parse(said) : said]
}
