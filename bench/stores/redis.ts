/**
 * The cost of a dashboard to a Redis or Valkey: `npm run bench:stores:redis [valkey|redis]`. Bytes that the server
 * received per byte fetched, memory per sample, and how long reading a window of 180 buckets takes without memory in
 * front.
 */
import { systemClock } from '../../src/core/clock.ts'
import { openRedisStore, type RedisStore } from '../../src/stores/redis/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { isUnavailable } from '../../test/servers/availability.ts'
import { type RedisFlavour, type RedisServer, startRedis } from '../../test/servers/redis/redis.ts'
import { configOf } from '../../test/stores/redis.ts'
import { answerBytes, answerPane, keyFor, refreshes, shapeFor, windowBuckets } from './workload.ts'

const hours = 3
const reads = 2000
const minuteMs = 60_000

async function open(server: RedisServer, clock = systemClock): Promise<RedisStore> {
  const config = configOf({ hosts: server.address })
  const store = await openRedisStore({ config, clock, retentionMs: 86_400_000, timeoutMs: 60_000 })
  if ('refused' in store) throw new Error(store.detail)
  return store
}

async function figure(server: RedisServer, name: string): Promise<number> {
  const text = String(await server.command('INFO', 'everything'))
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
}

/** The window slides over the last hours, so that nothing of it has expired when it ends. */
async function amplification(server: RedisServer, series: number): Promise<void> {
  await server.command('FLUSHALL')
  const clock = fakeClock()
  const store = await open(server, clock)
  const shape = shapeFor(series)
  const received = await figure(server, 'total_net_input_bytes')
  let fetched = 0
  for (const { now, interval } of refreshes(systemClock.now() - hours * 60 * minuteMs, hours)) {
    clock.jump(now)
    const pane = answerPane(series, interval, now)
    fetched += answerBytes(pane)
    await store.panes.write(keyFor(shape), { pane, shape })
  }
  const sent = (await figure(server, 'total_net_input_bytes')) - received
  const samples = series * (windowBuckets + hours * 60)
  const keys = (await server.command('KEYS', '*')) as string[]
  const sizes = await Promise.all(keys.map((key) => server.command('MEMORY', 'USAGE', key, 'SAMPLES', 0)))
  const stored = sizes.reduce<number>((sum, size) => sum + Number(size), 0)
  const perByte = `${(sent / fetched).toFixed(2)} bytes sent per byte fetched`
  console.log(`${series} series: ${perByte}; ${(stored / samples).toFixed(1)} bytes of memory per sample`)
  await latency(store, series, clock.now())
  await store.close()
}

/** Of the window as the workload left it: some long rows, and many short ones at its end. */
async function latency(store: RedisStore, series: number, now: number): Promise<void> {
  const to = Math.floor(now / minuteMs) + 1
  const window = { from: to - windowBuckets, to }
  const key = keyFor(shapeFor(series))
  const times: number[] = []
  for (let i = 0; i < 2 * reads; i++) {
    const began = systemClock.elapsed()
    await store.panes.read(key, window)
    if (i >= reads) times.push(systemClock.elapsed() - began)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(share * reads)]!.toFixed(2)
  const perSecond = (1000 * reads) / times.reduce((sum, ms) => sum + ms, 0)
  console.log(
    `  180 buckets read in ${at(0.5)} ms (p99 ${at(0.99)}), one after the other ${perSecond.toFixed(0)}/s`,
  )
}

const flavours = process.argv.slice(2) as RedisFlavour[]
for (const flavour of flavours.length > 0 ? flavours : (['valkey', 'redis'] as const)) {
  const server = await startRedis(flavour)
  if (isUnavailable(server)) throw new Error(server.unavailable)
  console.log(`${flavour} ${server.version}`)
  for (const series of [1, 10, 50]) await amplification(server, series)
  await server.stop()
}
