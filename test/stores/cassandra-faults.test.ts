/** A Cassandra of its own that is away at the start, goes away, is frozen, is started anew or lacks its tables. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { openCassandraStore } from '../../src/stores/cassandra/index.ts'
import { createTables } from '../../src/stores/cassandra/inspect.ts'
import type { CassandraConfig } from '../../src/stores/cassandra/kind.ts'
import type { OpenedStore } from '../../src/stores/kind.ts'
import { paneOfFetch, randomFetch } from '../../src/testing/pane-model.ts'
import { keyOfShape, shapeOf } from '../../src/testing/store-laws-panes.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { type Cassandra, startCassandra } from '../servers/cassandra/cassandra.ts'
import { eventually } from '../wait.ts'
import { configOf } from './cassandra-rig.ts'
import { tcpRelay } from './tcp-relay.ts'

/** So few that a test can exceed it. */
const found = await startCassandra({ settings: ['tombstone_failure_threshold: 200'] })
const options = { skip: skipReason(found) }
const server = found as Cassandra
after(() => (isUnavailable(found) ? undefined : found.stop()))

const retentionMs = 3_600_000
const shape = shapeOf('up')
const key = keyOfShape(shape)
const interval = { from: 0, to: 8 }

/** A busy machine must not fail a test that is not about slowness. */
const patient = { timeoutMs: 60_000, cellMs: 60_000, openMs: 60_000 }

async function open(config: CassandraConfig, { timeoutMs, ...others } = patient): Promise<OpenedStore> {
  const rules = { clock: systemClock, retentionMs, timeoutMs }
  const opened = await openCassandraStore(config, rules, others)
  assert.ok(!('refused' in opened), 'refused' in opened ? opened.detail : '')
  return opened
}

const write = ({ panes }: OpenedStore, within = interval): Promise<boolean> | boolean => {
  const fetch = randomFetch((min) => min, { interval: within, fetchedAt: systemClock.now() })
  return panes.write(key, { shape, pane: paneOfFetch(fetch) })
}
const stateOf = ({ panes }: OpenedStore) => panes.figures!().health!
const hasBuckets = async ({ panes }: OpenedStore): Promise<boolean> =>
  ((await panes.read(key, interval))?.panes.length ?? 0) > 0

/** Tries until it succeeds: the store recovers by itself, and reports it. */
async function recovered(store: OpenedStore): Promise<void> {
  const tried = async (): Promise<boolean> => {
    try {
      return (await write(store)) && (await hasBuckets(store))
    } catch {
      return false
    }
  }
  await eventually(tried, (isBack) => isBack)
  assert.deepEqual(stateOf(store), { state: 'ok' })
}

test(
  'without tables the store is degraded and names the remedy; with them it works, without a restart',
  options,
  async (t) => {
    const config = configOf(server, 'faults')
    const store = await open(config)
    t.after(() => store.close())
    const { state, trouble, detail } = stateOf(store)
    assert.deepEqual([state, trouble], ['degraded', 'not_set_up'])
    assert.match(detail!, /faults\.panes.* do not exist; create the tables with `windowpane store init/)
    assert.equal(store.notice, detail)
    await assert.rejects(async () => store.panes.read(key, interval), /does not exist/)
    assert.equal(stateOf(store).trouble, 'not_set_up')
    assert.deepEqual((await createTables(config, systemClock)) as object, {
      created: ['faults.panes', 'faults.records', 'faults.cells'],
    })
    await recovered(store)
  },
)

test(
  'a cluster that is away at the start is found when it comes, and again after it went away',
  options,
  async (t) => {
    const relay = await tcpRelay(server.port)
    const config = { ...configOf(server, 'faults'), hosts: `127.0.0.1:${relay.port}` }
    const store = await open(config)
    t.after(() => store.close())
    assert.deepEqual([stateOf(store).state, stateOf(store).trouble], ['degraded', 'unreachable'])
    assert.match(store.notice!, /ECONNREFUSED.*check the hosts/)
    await assert.rejects(async () => store.panes.read(key, interval))
    await assert.rejects(async () => store.cells!.get({ pk: 'p', sk: 's' }, 1))
    await relay.open()
    t.after(() => relay.close())
    await recovered(store)
    await relay.close()
    await eventually(
      () => hasBuckets(store).catch(() => 'failed'),
      (outcome) => outcome === 'failed',
    )
    await eventually(
      async () => {
        await hasBuckets(store).catch(() => {})
        return stateOf(store)
      },
      ({ trouble }) => trouble === 'unreachable',
    )
    await relay.open()
    await recovered(store)
  },
)

test('a frozen server costs the timeout, and nothing is left over when it goes on', options, async (t) => {
  const store = await open(configOf(server, 'faults'), { ...patient, timeoutMs: 200, cellMs: 200 })
  t.after(() => store.close())
  await recovered(store)
  server.pause()
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => hasBuckets(store)))
  server.resume()
  assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  await recovered(store)
})

test('a range full of tombstones is a miss, and is written again', options, async (t) => {
  const store = await open(configOf(server, 'faults'))
  t.after(() => store.close())
  const many = { from: 1_000_000, to: 1_000_400 }
  // One by one, so that every bucket has a row of its own.
  for (let from = many.from; from < many.to; from++) await write(store, { from, to: from + 1 })
  assert.equal(await store.panes.remove(key, many), 400)
  assert.deepEqual((await store.panes.read(key, many))?.panes, [])
  assert.equal(await hasBuckets(store), true)
})

test('a restarted server has the earlier writes', options, async (t) => {
  const store = await open(configOf(server, 'faults'))
  t.after(() => store.close())
  await write(store)
  const { ok } = await store.cells!.put(
    { pk: 'p', sk: 's' },
    { kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from('kept') },
    { is: 'absent' },
  )
  assert.ok(ok)
  await server.restart()
  await eventually(
    () => hasBuckets(store).catch(() => false),
    (isThere) => isThere,
  )
  const cell = await eventually(
    async () => {
      try {
        return await store.cells!.get({ pk: 'p', sk: 's' }, 1)
      } catch {
        return undefined
      }
    },
    (one) => one !== undefined,
  )
  assert.equal(Buffer.from(cell!.value).toString(), 'kept')
  assert.deepEqual(stateOf(store), { state: 'ok' })
})
