/** The findings of `windowpane doctor` about a durable store, by the kind's own examination. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { checkStores } from '../../src/cli/doctor/stores.ts'
import { loadConfig } from '../../src/config/load.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scratchDirectory } from './scratch.ts'

async function found(
  url: string,
  users: Readonly<Record<string, string>> = { 'backends.main.store': 'disk' },
) {
  const all = { 'stores.disk.url': url, ...users }
  const flags = Object.entries(all).map(([name, value]) => ({ name, value }))
  const loaded = loadConfig({ upstream: 'http://a:9090', flags })
  assert.ok('config' in loaded)
  const findings = await checkStores(loaded.config, fakeClock())
  return findings.filter(({ check }) => check.startsWith('store '))
}

test('a folder that can be written to and has room is fine, and nothing is left in it', async () => {
  const directory = scratchDirectory()
  const findings = await found(`lmdb:${join(directory, 'not/yet/there')}?size=16MiB&reserve=0B`)
  assert.deepEqual(
    findings.map(({ check, status }) => [check, status]),
    Array(2).fill(['store disk', 'ok']),
  )
  assert.match(findings[0]!.sentence, /can be written to; a small write and read takes 0\.0 ms\.$/)
  assert.match(findings[1]!.sentence, /are free; it may grow by 16 MiB and leaves 0 B to others\.$/)
  assert.deepEqual(readdirSync(directory), [])
})

test('want of room and a place that cannot be written to are reported with their remedies', async () => {
  const [, tight] = await found(`lmdb:${scratchDirectory()}?size=8000TiB&reserve=0B`)
  assert.deepEqual([tight!.status, tight!.remedy], ['warn', 'Free some space, or lower its size.'])
  const [, full] = await found(`lmdb:${scratchDirectory()}?reserve=4000TiB`)
  assert.deepEqual([full!.status, full!.remedy], ['fail', 'Free some space, or lower its reserve.'])
  const wrong = await found('lmdb:/dev/null/panes')
  assert.deepEqual(
    wrong.map(({ status, remedy }) => [status, remedy]),
    [['fail', 'Give this user a folder it may write to.']],
  )
})

test('memory is described by its own kind; a store that nothing uses is not examined', async () => {
  assert.deepEqual(await found('lmdb:/dev/null/panes', { 'backends.main.store': 'memory' }), [
    {
      ...{ check: 'store memory', status: 'ok' },
      sentence: 'Buckets are kept in memory only: a restart begins without them.',
    },
  ])
})

test('a store that only counts quotas is examined, too', async () => {
  const findings = await found('lmdb:/dev/null/panes', {
    'backends.main.store': 'memory',
    'quotas.store': 'disk',
  })
  assert.deepEqual(
    findings.map(({ check, status }) => [check, status]),
    [
      ['store memory', 'ok'],
      ['store disk', 'fail'],
    ],
  )
})
