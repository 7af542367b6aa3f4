/** A proxy with quotas from a configuration, on a clock that only the test moves. A reload is another configuration. */
import type { TestContext } from 'node:test'
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts'
import { databasesOf, settingsOf } from '../../src/config/settings.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import type { QueueFigures, QuotaCounts } from '../../src/telemetry/quota-families.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { END, MINUTE } from '../data/dataset.ts'
import { type Answer, type Ask, askPlainly, header } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { parseItemList } from '../proxy/structured-fields.ts'

export interface QuotaRig {
  readonly url: string
  readonly clock: FakeClock
  readonly lines: string[]
  reload(quotas: string): void
  counts(): QuotaCounts
  metrics(): string
  /** As a tenant; by default `path` is ten minutes of one series. */
  ask(tenant: string, path?: string, more?: Ask): Promise<Answer>
  queue(): QueueFigures
}

/** Ten minutes, a bucket per minute, that are settled: 600 tokens of `cost`, and 10 of `points` per series. */
export const range = { query: 'ramp_seconds', start: END - 20 * MINUTE, end: END - 11 * MINUTE }
const tenMinutes = rangePath(range)

const configOf = (url: string, quotas: string, concurrency = '{}'): LoadedConfig => {
  const text = `listen: 127.0.0.1:0
admin: { enabled: false }
backends: { main: { url: "${url}", type: prometheus, concurrency: ${concurrency} } }
quotas: ${quotas}
`
  const loaded = loadConfig({ file: { name: 'test.yaml', bytes: Buffer.from(text) } })
  if ('problems' in loaded) throw new Error(loaded.problems.map(({ message }) => message).join())
  return loaded
}

/** `concurrency` is that of the backend; a reload leaves it as it is. */
export async function startQuotaRig(
  t: TestContext,
  url: string,
  quotas: string,
  ...[concurrency]: readonly string[]
): Promise<QuotaRig> {
  const clock = fakeClock(END + 1440 * MINUTE)
  const { config } = configOf(url, quotas, concurrency)
  let settings = settingsOf(config)
  const lines: string[] = []
  const telemetry = new Telemetry({
    ...{ clock, version: '1.2.3' },
    log: { level: () => 'info', format: () => 'json', write: (line) => lines.push(line) > 0 },
    sources: { quotas: () => figures().map(({ queue, quota }) => ({ backend: 'main', queue, quota })) },
  })
  const server = await startServer({
    ...{ listen: config.listen, limits: config.limits, clock, telemetry, quotaStore: config.quotas.store },
    databases: await databasesOf(config, { kindOf: () => 'prometheus', settings: () => settings }),
  })
  const figures = () => server.databases.map((database) => database.figures())
  t.after(async () => {
    const closed = server.close()
    await clock.advance(config.limits.drainMs)
    await closed
  })
  return {
    ...{ url: server.url, clock, lines },
    reload: (changed) => {
      settings = settingsOf(configOf(url, changed, concurrency).config)
    },
    counts: () => figures()[0]!.quota!,
    queue: () => figures()[0]!.queue,
    metrics: () => [...telemetry.metrics.render()].join(''),
    ask: (tenant, path = tenMinutes, more = {}) =>
      askPlainly(server.url, path, { ...more, headers: { 'X-Scope-OrgID': tenant, ...more.headers } }),
  }
}

/** The remaining tokens of a limit in the answer; undefined where it has none. */
export function leftOf(answer: Answer, limit: string): number | undefined {
  const field = header(answer, 'ratelimit')
  const found = parseItemList(field ?? '"none"').find(([name]) => name === limit)
  return found?.[1].get('r') as number | undefined
}

export const byTenant = 'entity: header:X-Scope-OrgID'
