/** Stores on real Valkey and Redis servers, each below a prefix of its own; for tests only. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Clock, EpochMs } from '../../src/core/clock.ts'
import type { Interval } from '../../src/core/interval.ts'
import { type Key, keyOf } from '../../src/core/key.ts'
import { openRedisStore, type RedisConfig, type RedisStore } from '../../src/stores/redis/index.ts'
import type { Entry, ShapeRecord } from '../../src/stores/store.ts'
import { paneOfFetch, randomFetch } from '../../src/testing/pane-model.ts'
import { seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import { HANG_MS } from '../wait.ts'

const config: RedisConfig = {
  hosts: '',
  database: 0,
  cluster: false,
  tls: false,
  prefix: 'windowpane',
  ...{ sentinel: undefined, username: undefined, password: undefined, passwordFile: undefined },
  ...{ sentinelUsername: undefined, sentinelPassword: undefined, sentinelPasswordFile: undefined },
  ...{ ca: undefined, cert: undefined, key: undefined, serverName: undefined },
}

export const configOf = (of: Partial<RedisConfig>): RedisConfig => ({ ...config, ...of })

export const retentionMs = 3_600_000

interface Given {
  readonly clock: Clock
  readonly retentionMs?: number
  /** No command fails because the machine is busy, unless a test is about that. */
  readonly timeoutMs?: number
}

/** Also where a run leaves out some tests, and with them the hooks of their suites. */
export const stopAfterTests = (server: { stop(): Promise<void> } | Unavailable): void =>
  after(() => (isUnavailable(server) ? undefined : server.stop()))

let opened = 0

/** Below a new prefix, unless one is given. */
export async function redisStore(of: Partial<RedisConfig>, given: Given): Promise<RedisStore> {
  const prefix = `test-${process.pid}-${opened++}`
  const store = await openRedisStore({
    retentionMs,
    timeoutMs: HANG_MS,
    ...given,
    config: configOf({ prefix, ...of }),
  })
  assert.ok(!('refused' in store), `refused: ${'refused' in store ? store.detail : ''}`)
  return store
}

const shapeOf = (text: string): ShapeRecord => ({
  backend: 'test',
  text,
  query: text,
  sources: [text],
  knowsAllSources: true,
  lookbackMs: 300_000,
  grid: { kind: 'point', step: 1000, origin: 0 },
  identity: '',
  headers: [],
})

/** An argument of `write`: buckets of some metric, fetched at an instant. */
export function paneFetched(text: string, interval: Interval, fetchedAt: EpochMs): [Key, Entry] {
  const shape = shapeOf(text)
  const random = seededRandom(interval.from + fetchedAt)
  const fetch = randomFetch((min, max) => wholeNumber(random, min, max), { interval, fetchedAt })
  const key = keyOf({ backend: 'test', identity: '', shape: text, grid: shape.grid })
  return [key, { pane: paneOfFetch(fetch), shape }]
}
