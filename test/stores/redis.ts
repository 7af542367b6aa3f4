/** Stores on real Valkey and Redis servers, each below a prefix of its own; for tests only. */
import assert from 'node:assert/strict'
import type { Clock } from '../../src/core/clock.ts'
import { openRedisStore, type RedisConfig, type RedisStore } from '../../src/stores/redis/index.ts'
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

export const retentionMs = 3_600_000

interface Given {
  readonly clock: Clock
  readonly retentionMs?: number
  /** No command fails because the machine is busy, unless a test is about that. */
  readonly timeoutMs?: number
}

let opened = 0

/** Below a new prefix, unless one is given. */
export async function redisStore(of: Partial<RedisConfig>, given: Given): Promise<RedisStore> {
  const prefix = `test-${process.pid}-${opened++}`
  const store = await openRedisStore({
    retentionMs,
    timeoutMs: HANG_MS,
    ...given,
    config: { ...config, prefix, ...of },
  })
  assert.ok(!('refused' in store), `refused: ${'refused' in store ? store.detail : ''}`)
  return store
}
