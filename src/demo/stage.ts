/** Assembles the demo: database, proxy, crowd, and an auditor that compares answers with the truth. */
import { Pool } from 'undici'
import { prometheus } from '../backends/prometheus/index.ts'
import type { Clock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { startWindowpane, type Windowpane } from '../proxy/assembly/windowpane.ts'
import { defaultLimits } from '../proxy/limits.ts'
import { ladder } from '../ttl/ladder.ts'
import { Auditor } from './audit.ts'
import { Crowd, formOf, usualViewers, type Visit } from './crowd.ts'
import { createDemoDatabase, type DemoQuery, probeHeader } from './database.ts'
import { serveDemoDatabase } from './database-server.ts'
import { type Picture, Tally } from './tally.ts'
import type { DemoSetup } from './view.ts'

export interface StageOptions {
  readonly clock: Clock
  readonly seed: number
  /** Without it the usual address, or any free one where that is taken. */
  readonly listen?: string
}

export interface Stage {
  readonly setup: DemoSetup
  picture(): Picture
  close(): Promise<void>
}

const usualListen = '127.0.0.1:9191'
const auditedShare = 0.25
const probedShare = 0.05
/** The other panels of the same refresh must not wait for our curiosity: everything here is one thread. */
const afterwardsMs = 250

export async function openStage({ clock, seed, listen }: StageOptions): Promise<Stage> {
  const database = createDemoDatabase({ clock, seed })
  const server = await serveDemoDatabase(database)
  const policy = ladder()
  const start = (address: string): Promise<Windowpane> => {
    const backend = prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: defaultLimits.maxBuckets })
    return startWindowpane({ upstream: server.url, backend, policy, clock, listen: address })
  }
  const windowpane = await startSomewhere(start, listen).catch(async (error) => {
    await server.close()
    throw error
  })
  const tally = new Tally(clock, database.load)
  const auditor = new Auditor(database, policy)
  const visited = (visit: Visit): void => {
    tally.visited(visit, server.fetchFor(visit.id))
    if (visit.status !== 200) return
    const [isAudited, isProbed] = [clock.random() < auditedShare, clock.random() < probedShare]
    if (isAudited) clock.after(afterwardsMs, () => tally.audited(auditor.judge(visit)))
    if (isProbed) clock.after(afterwardsMs, () => void probe(visit.question))
  }
  const direct = new Pool(server.url)
  const probe = async (question: DemoQuery): Promise<void> => {
    const started = clock.elapsed()
    const path = `/api/v1/query_range?${formOf(question)}`
    const answer = await direct
      .request({ method: 'GET', path, headers: { [probeHeader]: '1' } })
      .catch(() => undefined)
    // A demo that is being closed cuts its probes off.
    const text = await answer?.body.text().catch(() => undefined)
    if (text !== undefined) tally.askedDirectly(clock.elapsed() - started)
  }
  const crowd = new Crowd({ clock, url: windowpane.url, seed, visited })
  return {
    setup: { proxyUrl: windowpane.url, dashboards: usualViewers },
    picture: () => tally.picture(),
    async close() {
      await crowd.stop()
      await direct.destroy()
      await windowpane.close()
      await server.close()
    },
  }
}

async function startSomewhere(
  start: (address: string) => Promise<Windowpane>,
  listen: string | undefined,
): Promise<Windowpane> {
  if (listen !== undefined) return start(listen)
  try {
    return await start(usualListen)
  } catch (error) {
    if (!(error instanceof WindowpaneError) || error.code !== 'WINDOWPANE_LISTEN_FAILED') throw error
    return start('127.0.0.1:0')
  }
}
