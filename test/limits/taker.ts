/**
 * A process that takes permits, for tests. Arguments: the URL of a store, and what to do as JSON (`TakerJob`). It is ready
 * when it has written a line, begins when it is sent one, and then writes its history as JSON.
 */
import { once } from 'node:events'
import { openStore } from '../../src/config/open-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { Limit } from '../../src/limits/limit.ts'
import { limiter } from '../../src/limits/limiter.ts'
import { HANG_MS } from '../wait.ts'

export interface TakerJob {
  readonly entity: string
  readonly limits: readonly Limit[]
  readonly consume: Readonly<Record<string, number>>
  readonly requests: number
  /** How many of them are sent at once. */
  readonly atOnce: number
  readonly shards: number
}

/** When an admitted request was sent, and when its permit came. */
export type Admission = readonly [sentAt: number, admittedAt: number]

export interface TakerHistory {
  readonly admissions: readonly Admission[]
  /** Requests whose result the store did not report. */
  readonly unknown: number
}

const [url = '', job = ''] = process.argv.slice(2)
if (url !== '') await run(url, JSON.parse(job) as TakerJob)

async function run(url: string, { entity, limits, consume, requests, atOnce, shards }: TakerJob) {
  const store = await openStore(url, { timeoutMs: HANG_MS })
  const own = limiter(store.cells!, { onUnavailable: 'block', shards })
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  const admissions: Admission[] = []
  let unknown = 0
  const take = async (): Promise<void> => {
    const sentAt = systemClock.now()
    const outcome = await own.acquire({ entity, resource: 'main', consume, limits })
    if (outcome.ok) admissions.push([sentAt, systemClock.now()])
    else if (outcome.cause === 'unavailable') unknown++
  }
  for (let left = requests; left > 0; left -= atOnce)
    await Promise.all(Array.from({ length: Math.min(left, atOnce) }, take))
  process.stdout.write(`${JSON.stringify({ admissions, unknown } satisfies TakerHistory)}\n`)
  process.stdin.destroy()
  await store.close()
}
