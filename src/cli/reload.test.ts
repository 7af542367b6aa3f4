import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduler } from 'node:timers/promises'
import { loadConfig, type RefusedConfig } from '../config/load.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import type { ReadConfig } from './config-file.ts'
import { Reloads } from './reload.ts'

const NOW = Date.UTC(2026, 0, 1)

function configWith(mode: string): ReadConfig | RefusedConfig {
  const text = `backends: { main: { url: 'http://h', mode: ${mode} } }\n`
  const given = { file: { name: 'windowpane.yaml', bytes: Buffer.from(text) } }
  const loaded = loadConfig(given)
  return 'problems' in loaded ? loaded : { ...loaded, given }
}

/** Readings that the test ends, one by one and in any order. */
function stand() {
  const readings: ((mode: string) => void)[] = []
  const taken: string[] = []
  const clock = fakeClock(NOW)
  let loaded = configWith('on') as ReadConfig
  const reloads = new Reloads({
    clock,
    loaded: () => loaded,
    read: () => new Promise((resolve) => readings.push((mode) => resolve(configWith(mode)))),
    apply: async (fresh) => {
      loaded = fresh
      taken.push(fresh.config.backends['main']!.mode)
    },
    onReload: () => {},
  })
  return { reloads, readings, taken, clock }
}

test('readings do not overlap: an older one is never taken after a newer one', async () => {
  const { reloads, readings, taken } = stand()
  const first = reloads.run()
  await scheduler.yield()
  const second = reloads.run()
  await scheduler.yield()
  assert.equal(readings.length, 1)
  readings[0]!('off')
  await first
  await scheduler.yield()
  readings[1]!('shadow')
  await second
  assert.deepEqual(taken, ['off', 'shadow'])
})

test('concurrent reloads share one that waits for its turn: a flood is two reads', async () => {
  const { reloads, readings } = stand()
  const reports = [reloads.run()]
  await scheduler.yield()
  for (let i = 0; i < 100; i++) reports.push(reloads.run())
  for (const index of [0, 1]) {
    readings[index]!('off')
    await scheduler.yield()
  }
  assert.deepEqual(new Set((await Promise.all(reports)).map(({ isOk }) => isOk)), new Set([true]))
  assert.equal(readings.length, 2)
})

test('the result of the last reload is known, and the time of the one in force', async () => {
  const { reloads, readings, clock } = stand()
  const reloadTo = async (mode: string) => {
    await clock.advance(60_000)
    const report = reloads.run()
    await scheduler.yield()
    readings.at(-1)!(mode)
    await report
  }
  assert.deepEqual(reloads.state, { inForceSince: NOW })
  await reloadTo('maybe')
  const { last, inForceSince } = reloads.state
  assert.deepEqual([last?.isOk, last?.at, inForceSince], [false, NOW + 60_000, NOW])
  assert.match(last!.message, /mode: expected one of off, shadow, on/)
  await reloadTo('off')
  assert.deepEqual(reloads.state, {
    inForceSince: NOW + 120_000,
    last: { isOk: true, at: NOW + 120_000, message: 'the configuration was reloaded' },
  })
})
