/** Beyond the laws of stores: the content of the server, its deletion, and logins. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Secret } from '../../src/config/secret.ts'
import { systemClock } from '../../src/core/clock.ts'
import { connect } from '../../src/stores/redis/index.ts'
import { redisKind } from '../../src/stores/redis/kind.ts'
import { RedisRows } from '../../src/stores/redis/rows.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { type RedisServer, startRedis } from '../servers/redis/redis.ts'
import { eventually, HANG_MS } from '../wait.ts'
import { configOf, paneFetched, redisStore, retentionMs, stopAfterTests } from './redis.ts'

const clock = systemClock

const keysOf = async (server: RedisServer, prefix: string): Promise<string[]> =>
  ((await server.command('KEYS', `${prefix}:*`)) as string[]).sort()

async function rowsOn(server: RedisServer, prefix: string): Promise<RedisRows> {
  const config = configOf({ hosts: server.address, prefix })
  const connection = await connect({ config, clock, timeoutMs: HANG_MS })
  assert.ok(!('refused' in connection))
  return new RedisRows(connection, prefix)
}

for (const flavour of ['valkey', 'redis'] as const) {
  const server = await startRedis(flavour)
  stopAfterTests(server)
  describe(flavour, { skip: skipReason(server) }, () => {
    if (isUnavailable(server)) return

    test('keys without writes vanish by themselves, with everything that belongs to them', async (t) => {
      const of = { hosts: server.address, prefix: 'short' }
      const store = await redisStore(of, { clock, retentionMs: 1000 })
      t.after(store.close)
      await store.panes.write(...paneFetched('up', { from: 0, to: 2000 }, clock.now()))
      await eventually(
        () => keysOf(server, 'short'),
        (keys) => keys.length === 0,
      )
    })

    test('a row vanishes at the end of its retention, the others stay', async (t) => {
      const store = await redisStore({ hosts: server.address, prefix: 'rows' }, { clock })
      t.after(store.close)
      const now = clock.now()
      const [key, old] = paneFetched('up', { from: 0, to: 1 }, now - retentionMs + 1500)
      const [, young] = paneFetched('up', { from: 5, to: 6 }, now)
      await store.panes.write(key, old)
      await store.panes.write(key, young)
      const hash = (await keysOf(server, 'rows')).find((name) => name.endsWith(':0'))!
      const isOver = () => clock.now() > now + 1600
      // Where fields have no lifetime of their own, the next write deletes them.
      await eventually(
        async () => {
          if (isOver() && flavour === 'redis') await store.panes.write(key, young)
          return server.command('HKEYS', hash)
        },
        (rows) => String(rows) === '5.1',
      )
      assert.equal(await server.command('ZCARD', `${hash}:clocks`), flavour === 'redis' ? 1 : 2)
    })

    test('every key has an end of life', async (t) => {
      const store = await redisStore({ hosts: server.address, prefix: 'ends' }, { clock })
      t.after(store.close)
      const [key, entry] = paneFetched('up', { from: -5, to: 3000 }, clock.now())
      await store.panes.write(key, entry)
      await store.panes.remove(key)
      await store.panes.write(...paneFetched('up', { from: -5, to: 3000 }, clock.now() - 60_000))
      const draft = { kind: 'k', v: 1, clocks: {}, value: Buffer.from('x') }
      const collectAt = Math.ceil(clock.now() / 1000) + 60
      await store.cells.put({ pk: 'p', sk: 's' }, { ...draft, collectAt }, { is: 'absent' })
      const names = await keysOf(server, 'ends')
      assert.equal(names.length, 11)
      for (const name of names) assert.ok(Number(await server.command('PTTL', name)) > 0, name)
    })

    test('bytes of any value come back, and the newer clock stays', async (t) => {
      const rows = await rowsOn(server, 'bytes')
      t.after(() => rows.close())
      const value = Buffer.from([...Array(256).keys(), 13, 10, 0, 36, 45, 49, 13, 10])
      const now = clock.now()
      const write = (put: { from: number; buckets: number; clock: number; value: Buffer }[]) =>
        rows.write('k', {
          put,
          drop: [],
          now,
          retentionMs,
          record: { value, clock: now },
          stamp: { value, clock: now },
        })
      await write([{ from: -64, buckets: 64, clock: now - 0.25, value }])
      await write([{ from: -64, buckets: 64, clock: now - 1, value: Buffer.from('older') }])
      const found = await rows.read('k', { from: -64, to: 0 })
      assert.deepEqual(found.rows, [{ from: -64, buckets: 64, clock: now - 0.25, value }])
      assert.deepEqual([found.record, found.stamp], [value, value])
    })

    test('a longer row takes the place of older ones inside it, and older ones inside it are not kept', async (t) => {
      const rows = await rowsOn(server, 'longer')
      t.after(() => rows.close())
      const now = clock.now()
      const row = (from: number, buckets: number, age: number) => ({
        from,
        buckets,
        clock: now - age,
        value: Buffer.from([age]),
      })
      const write = (put: ReturnType<typeof row>[]) => rows.write('k', { put, drop: [], now, retentionMs })
      await write([row(64, 1, 9), row(68, 4, 9), row(80, 16, 2), row(127, 1, 9), row(128, 1, 9)])
      await write([row(64, 64, 5)])
      await write([row(66, 1, 7), row(67, 1, 1)])
      const ids = (await rows.read('k', { from: 0, to: 200 })).rows.map(
        ({ from, buckets }) => `${from}.${buckets}`,
      )
      assert.deepEqual(ids.sort(), ['128.1', '64.64', '67.1', '80.16'])
      const all = (await rows.read('k', { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }))
        .rows
      assert.deepEqual(
        all.map(({ from }) => from),
        [64, 67, 80, 128],
      )
    })

    test('a server that has forgotten the scripts gets them again', async (t) => {
      const store = await redisStore({ hosts: server.address }, { clock })
      t.after(store.close)
      const [key, entry] = paneFetched('up', { from: 0, to: 3 }, clock.now())
      await store.panes.write(key, entry)
      await server.command('SCRIPT', 'FLUSH')
      assert.ok(await store.panes.write(key, entry))
    })

    test('a cell is a hash that any client can read', async (t) => {
      const store = await redisStore({ hosts: server.address, prefix: 'flat' }, { clock })
      t.after(store.close)
      const [now, collectAt] = [clock.now(), Math.ceil(clock.now() / 1000) + 60]
      const attributes = { generated_at: 1700000000, etag: '"x"' }
      const draft = {
        kind: 'page',
        v: 3,
        clocks: { freshUntil: now + 1.5 },
        collectAt,
        value: Buffer.from('body'),
        attributes,
      }
      const outcome = await store.cells.put({ pk: 'T#a', sk: 'META' }, draft, { is: 'absent' })
      const fields = (await server.command('HGETALL', 'flat:cells:1:{T#a}:META')) as string[]
      const pairs = fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : []))
      assert.deepEqual(Object.fromEntries(pairs), {
        ...{ kind: 'page', v: '3', value: 'body', rev: outcome.ok && outcome.rev },
        ...{ fresh_until: String(now + 1.5), ttl: String(collectAt) },
        ...{ generated_at: '1700000000', etag: '"x"', '#integers': 'generated_at' },
      })
      assert.deepEqual(await server.command('ZRANGE', 'flat:cells:1:{T#a}', 0, -1), ['META'])
    })

    test('cells that the server removed leave the list', async (t) => {
      const store = await redisStore({ hosts: server.address, prefix: 'gone' }, { clock })
      t.after(store.close)
      const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from('x') } as const
      for (const sk of ['a', 'b']) await store.cells.put({ pk: 'p', sk }, draft, { is: 'absent' })
      await server.command('DEL', 'gone:cells:1:{p}:a')
      assert.deepEqual(
        (await store.cells.list('p', 1)).map(([sk]) => sk),
        ['b'],
      )
      await eventually(
        () => server.command('ZRANGE', 'gone:cells:1:{p}', 0, -1),
        (names) => String(names) === 'b',
      )
    })

    test('a user needs the permissions of the guide only', async (t) => {
      const commands =
        '-@all +@read +@write +@connection +eval +evalsha +publish +subscribe -@dangerous +info'
      const rules = ['~acl:*', '&acl:*', ...commands.split(' '), '+command|info']
      await server.command('ACL', 'SETUSER', 'wp', 'on', '>right', ...rules)
      const login = { hosts: server.address, prefix: 'acl', username: 'wp', password: new Secret('right') }
      const [store, other] = [await redisStore(login, { clock }), await redisStore(login, { clock })]
      t.after(() => Promise.all([store.close(), other.close()]))
      const heard: string[] = []
      other.panes.onNews!((key) => heard.push(key))
      const [key, entry] = paneFetched('up', { from: 0, to: 3 }, clock.now())
      await eventually(
        async () => {
          await store.panes.write(key, entry)
          return heard
        },
        (keys) => keys.includes(key),
      )
      const found: string[] = []
      for await (const [one] of other.panes.shapes()) found.push(one)
      assert.deepEqual(found, [key])
      assert.ok((await other.panes.remove(key)) > 0)
      const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from('x') } as const
      assert.ok((await store.cells.put({ pk: 'p', sk: 's' }, draft, { is: 'absent' })).ok)
      assert.deepEqual(other.panes.figures!().health, { state: 'ok' })
    })

    test('a wrong password is reported in a sentence, without the password', async (t) => {
      const locked = await startRedis(flavour, { options: ['--requirepass', 'right'] })
      assert.ok(!isUnavailable(locked))
      t.after(() => locked.stop())
      const login = { hosts: locked.address, password: new Secret('wr0ng') }
      const store = await redisStore(login, { clock })
      t.after(store.close)
      const refused = await redisKind.inspect(configOf(login), clock)
      assert.ok('refused' in refused)
      assert.equal(refused.refused, 'denied')
      const { state, trouble, detail } = store.panes.figures!().health!
      assert.deepEqual([state, trouble], ['degraded', 'denied'])
      assert.match(
        detail!,
        /refuses the user or the password \(WRONGPASS .*: check username and passwordFile$/,
      )
      const error = await (store.panes.read('k', { from: 0, to: 1 }) as Promise<unknown>).catch(String)
      assert.doesNotMatch(JSON.stringify([refused, detail, error]), /wr0ng/)
    })

    test('a password that was changed in its file counts from the next connection on', async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'windowpane-redis-'))
      const passwordFile = join(folder, 'password')
      t.after(() => rmSync(folder, { recursive: true }))
      const rotate = async (password: string) => {
        writeFileSync(passwordFile, `${password}\n`)
        await server.command('ACL', 'SETUSER', 'rotated', 'reset', 'on', `>${password}`, '~*', '&*', '+@all')
      }
      await rotate('first')
      const store = await redisStore({ hosts: server.address, username: 'rotated', passwordFile }, { clock })
      t.after(store.close)
      await store.panes.record('k')
      await rotate('second')
      await server.command('CLIENT', 'KILL', 'USER', 'rotated')
      const isAnswered = async () =>
        (store.panes.record('k') as Promise<unknown>).then(
          () => true,
          () => false,
        )
      await eventually(isAnswered, (is) => is)
    })
  })
}
