/** The laws on a cluster of three servers: all keys of a shape, and all cells of a partition, lie on one of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Secret } from '../../src/config/secret.ts'
import { systemClock } from '../../src/core/clock.ts'
import { redisKind } from '../../src/stores/redis/kind.ts'
import { testCells, testStore } from '../../src/testing/test-store.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { startRedisCluster } from '../servers/redis/sets.ts'
import { eventually } from '../wait.ts'
import { configOf, paneFetched, redisStore, retentionMs, stopAfterTests } from './redis.ts'

const cluster = await startRedisCluster()
stopAfterTests(cluster)

describe('a cluster', { skip: skipReason(cluster) }, () => {
  if (isUnavailable(cluster)) return
  test.after(() => cluster.stop())
  const of = { hosts: cluster.nodes.map(({ address }) => address).join(','), cluster: true }

  testStore({
    name: 'cluster',
    capabilities: { retentionMs, rounds: 3 },
    create: async ({ clock }) => (await redisStore(of, { clock })).panes,
  })
  testCells({
    name: 'cluster',
    rounds: 3,
    async create({ clock }) {
      const { cells, close } = await redisStore(of, { clock })
      return { cells, end: close }
    },
  })

  test('shapes are spread over the servers, and listed from all of them', async (t) => {
    const { panes, close } = await redisStore({ ...of, prefix: 'spread' }, { clock: systemClock })
    t.after(close)
    const now = systemClock.now()
    const texts = Array.from({ length: 30 }, (_, i) => `metric_${i}`)
    for (const text of texts) await panes.write(...paneFetched(text, { from: 0, to: 3 }, now))
    const sizes = await Promise.all(cluster.nodes.map((node) => node.command('DBSIZE')))
    assert.ok(
      sizes.every((size) => Number(size) > 0),
      `keys per server: ${sizes}`,
    )
    const found: string[] = []
    for await (const [, { text }] of panes.shapes()) found.push(text)
    assert.deepEqual(found.sort(), texts.sort())
  })

  test('a partition whose name has braces lies on one server', async (t) => {
    const { cells, close } = await redisStore(of, { clock: systemClock })
    t.after(close)
    const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from('x') } as const
    for (const pk of ['{', '}{', '{}', '%7b', 'a{b}c']) {
      const changes = ['s', '}', '{t}'].map((sk) => ({
        id: { pk, sk },
        put: draft,
        if: { is: 'absent' } as const,
      }))
      assert.ok((await cells.publish(changes)).ok, pk)
      assert.deepEqual(
        (await cells.list(pk, 1)).map(([sk]) => sk),
        ['s', '{t}', '}'],
      )
    }
  })

  test('an unreachable cluster is reported', async () => {
    const down = configOf({ hosts: '127.0.0.1:1,127.0.0.1:2', cluster: true })
    const refused = await redisKind.inspect(down, systemClock)
    assert.ok('refused' in refused)
    assert.match(refused.detail, /^127\.0\.0\.1:1,127\.0\.0\.1:2 cannot be reached/)
  })

  test('nodes hear of each other, whichever server they are connected to', async (t) => {
    const shared = { ...of, prefix: 'news' }
    const [one, other] = [
      await redisStore(shared, { clock: systemClock }),
      await redisStore(shared, { clock: systemClock }),
    ]
    t.after(() => Promise.all([one.close(), other.close()]))
    const heard: string[] = []
    assert.ok(other.panes.onNews!((key) => heard.push(key)))
    const [key, entry] = paneFetched('up', { from: 0, to: 3 }, systemClock.now())
    await eventually(
      async () => {
        await one.panes.write(key, entry)
        return heard
      },
      (keys) => keys.includes(key),
    )
  })

  // The last one: the tests before it log in without a password.
  test('a wrong password is reported, as by one server', async (t) => {
    for (const node of cluster.nodes) await node.command('CONFIG', 'SET', 'requirepass', 'right')
    const refused = await redisKind.inspect(configOf({ ...of, password: new Secret('wr0ng') }), systemClock)
    assert.ok('refused' in refused)
    assert.match(refused.detail, /refuses the user or the password/)
    const store = await redisStore({ ...of, password: new Secret('right') }, { clock: systemClock })
    t.after(store.close)
    assert.deepEqual(store.panes.figures!().health, { state: 'ok' })
  })
})
