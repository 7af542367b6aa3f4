import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnavailable, skipReason } from '../availability.ts'
import { startRedis } from './redis.ts'
import { startRedisCluster, startSentinelSet } from './sets.ts'

const started = await Promise.all([
  startRedis('valkey'),
  startRedis('redis'),
  startSentinelSet(),
  startRedisCluster(),
])
const [valkey, redis, sentinels, cluster] = started
test.after(async () => {
  for (const server of started) if (!isUnavailable(server)) await server.stop()
})

const knowsFieldLifetimes = ([about]: readonly unknown[]): boolean => about !== null

test('Valkey has a lifetime per hash field', { skip: skipReason(valkey) }, async () => {
  if (isUnavailable(valkey)) return
  assert.ok(knowsFieldLifetimes((await valkey.command('COMMAND', 'INFO', 'HPEXPIRE')) as unknown[]))
})

test('Redis 7.0 has none', { skip: skipReason(redis) }, async () => {
  if (isUnavailable(redis)) return
  assert.ok(!knowsFieldLifetimes((await redis.command('COMMAND', 'INFO', 'HPEXPIRE')) as unknown[]))
})

test('a killed server starts again where it was', { skip: skipReason(redis) }, async () => {
  if (isUnavailable(redis)) return
  await redis.kill()
  await assert.rejects(redis.command('PING'))
  await redis.restart()
  assert.equal(await redis.command('PING'), 'PONG')
})

test('a sentinel knows the primary', { skip: skipReason(sentinels) }, async () => {
  if (isUnavailable(sentinels)) return
  const found = await sentinels.sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinels.name)
  assert.deepEqual(found, ['127.0.0.1', String(sentinels.primary.port)])
})

test('a cluster of three serves every slot', { skip: skipReason(cluster) }, async () => {
  if (isUnavailable(cluster)) return
  assert.match(String(await cluster.nodes[2]!.command('CLUSTER', 'INFO')), /cluster_slots_ok:16384/)
})
