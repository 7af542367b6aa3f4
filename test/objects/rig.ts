/** A Windowpane with all that it takes to purge and to change settings, in front of a scripted database. */
import type { TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { usualWholeSettings, type WholeSettings } from '../../src/engine/objects/whole-terms.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { defaultLimits, type Limits } from '../../src/proxy/limits.ts'
import type { Settings } from '../../src/proxy/request/settings.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { json, type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'

export const NOW = Date.UTC(2026, 1, 1)

export interface Rig {
  readonly url: string
  readonly clock: FakeClock
  readonly upstream: ScriptedUpstream
  readonly server: ProxyServer
  /** In force from the next request on. */
  settings: Settings
  /** Requests that reached the database. */
  readonly asked: number
}

export interface RigOptions {
  readonly whole?: Partial<WholeSettings>
  readonly limits?: Partial<Limits>
}

export const list = (...data: string[]) => json(200, { status: 'success', data })

export async function startRig(t: TestContext, { whole, limits: given }: RigOptions = {}): Promise<Rig> {
  const clock = fakeClock(NOW)
  const upstream = await startScriptedUpstream(t)
  upstream.script = list('a', 'b')
  const limits = { ...defaultLimits, ...given }
  const { maxStaleMs } = limits
  const rig = {
    settings: {
      terms: { mode: 'on', identity: 'separate', policy: ladder(), maxStaleMs },
      rules: [],
      whole: { ...usualWholeSettings, ...whole },
    } as Settings,
  }
  const server = await startServer({
    ...{ listen: '127.0.0.1:0', limits, clock },
    databases: [
      {
        name: 'main',
        backend: prometheus({ settledAgeMs: 3_600_000, maxBuckets: limits.maxBuckets }),
        upstream: { urls: [upstream.url] },
        settings: () => rig.settings,
      },
    ],
  })
  t.after(async () => {
    const closed = server.close()
    await clock.advance(limits.drainMs)
    await closed
  })
  return Object.defineProperty(Object.assign(rig, { url: server.url, clock, upstream, server }), 'asked', {
    get: () => upstream.seen.length,
  }) as unknown as Rig
}
