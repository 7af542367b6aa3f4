/** Servers that are down, slow or replaced: operations fail in time, nothing wrong is read, and it recovers by itself. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { clockOf, type Pane } from '../../src/core/pane.ts'
import { join } from '../../src/core/pane-join.ts'
import type { RedisStore } from '../../src/stores/redis/index.ts'
import { redisKind } from '../../src/stores/redis/kind.ts'
import type { Entry, Found } from '../../src/stores/store.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { freePort } from '../servers/ports.ts'
import { startRedis } from '../servers/redis/redis.ts'
import { startSentinelSet } from '../servers/redis/sets.ts'
import { eventually } from '../wait.ts'
import { configOf, paneFetched, redisStore, stopAfterTests } from './redis.ts'

const clock = systemClock

const isRead = (store: RedisStore): Promise<boolean> =>
  (store.panes.record('k') as Promise<unknown>).then(
    () => true,
    () => false,
  )

const isOk = (store: RedisStore): boolean => store.panes.figures!().health!.state === 'ok'

const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from('x') } as const

const server = await startRedis('valkey')
stopAfterTests(server)

describe('one server', { skip: skipReason(server) }, () => {
  if (isUnavailable(server)) return
  test.after(() => server.stop())
  const of = { hosts: server.address }

  test('a server that is down when the store is opened is used as soon as it is there', async (t) => {
    await server.kill()
    const store = await redisStore(of, { clock })
    t.after(store.close)
    const { state, trouble, detail } = store.panes.figures!().health!
    assert.deepEqual([state, trouble], ['degraded', 'unreachable'])
    assert.match(detail!, /^127\.0\.0\.1:\d+ cannot be reached \(connect ECONNREFUSED .*: check hosts, and/)
    const [key, entry] = paneFetched('up', { from: 0, to: 3 }, clock.now())
    await assert.rejects(async () => store.panes.write(key, entry), /cannot be reached/)
    await assert.rejects(async () => store.cells.put({ pk: 'p', sk: 's' }, draft, { is: 'absent' }))
    await server.restart()
    await eventually(
      () => isRead(store),
      (is) => is,
    )
    assert.ok(await store.panes.write(key, entry))
    assert.ok((await store.cells.put({ pk: 'p', sk: 's' }, draft, { is: 'absent' })).ok)
    await eventually(
      async () => isOk(store),
      (is) => is,
    )
  })

  test('a server that is killed costs failures until it is back; news are heard again', async (t) => {
    const shared = { ...of, prefix: 'killed' }
    const [store, other] = [await redisStore(shared, { clock }), await redisStore(shared, { clock })]
    t.after(() => Promise.all([store.close(), other.close()]))
    let heard = 0
    other.panes.onNews!(() => heard++)
    const [key, entry] = paneFetched('up', { from: 0, to: 3 }, clock.now())
    const write = () => (store.panes.write(key, entry) as Promise<boolean>).catch(() => false)
    await eventually(write, () => heard > 0)
    await server.kill()
    await eventually(
      () => isRead(store),
      (is) => !is,
    )
    await server.restart()
    const before = heard
    await eventually(write, () => heard > before)
    assert.ok(isOk(store))
  })

  test('a server that hangs fails commands in time, and is used again when it answers', async (t) => {
    const store = await redisStore(of, { clock, timeoutMs: 1000 })
    t.after(store.close)
    server.pause()
    t.after(() => server.resume())
    await assert.rejects(async () => store.panes.record('k'), /Command timed out/)
    assert.equal(store.panes.figures!().health!.state, 'degraded')
    server.resume()
    await eventually(
      () => isRead(store),
      (is) => is,
    )
    await eventually(
      async () => isOk(store),
      (is) => is,
    )
  })

  test('a server that is full reports it, and is well again when there is room', async (t) => {
    const store = await redisStore(of, { clock })
    t.after(store.close)
    const write = async () => store.panes.write(...paneFetched('up', { from: 0, to: 3 }, clock.now()))
    await server.command('CONFIG', 'SET', 'maxmemory', 1)
    await assert.rejects(write, /has no memory left and evicts nothing/)
    await isRead(store)
    assert.equal(store.panes.figures!().health!.trouble, 'full')
    await server.command('CONFIG', 'SET', 'maxmemory', 0)
    assert.ok(await write())
    assert.ok(isOk(store))
  })

  test('the doctor names version, memory policy, and a server that is not there', async () => {
    const config = configOf(of)
    const sentences = async () =>
      (await redisKind.examine(config, clock)).map(({ status, sentence }) => `${status}: ${sentence}`)
    const [first, second] = await sentences()
    assert.match(first!, /^ok: 127\.0\.0\.1:\d+ answers in [\d.]+ ms: Valkey \d+\.\d+\.\d+\.$/)
    assert.equal(second, 'warn: It has no memory limit.')
    await server.command('CONFIG', 'SET', 'maxmemory', '64mb')
    assert.match(
      (await sentences())[1]!,
      /^warn: It may use 64 MiB \(noeviction\): when that is full, it refuses writes/,
    )
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru')
    assert.equal((await sentences())[1]!, 'ok: It may use 64 MiB (volatile-lru).')
    const inspected = await redisKind.inspect(config, clock)
    assert.ok(!('refused' in inspected) && /^\d+\.\d+\.\d+$/.test(inspected.version))
    assert.deepEqual(await redisKind.setup!.create(config, clock), { created: [] })
    const nowhere = configOf({ hosts: `127.0.0.1:${await freePort()}` })
    const [missing] = await redisKind.examine(nowhere, clock)
    assert.equal(missing!.status, 'fail')
    assert.match(missing!.sentence, /cannot be reached/)
  })
})

const set = await startSentinelSet()
stopAfterTests(set)

describe('sentinels', { skip: skipReason(set) }, () => {
  if (isUnavailable(set)) return
  test.after(() => set.stop())

  test('a primary that the sentinels do not know is reported', async () => {
    const refused = await redisKind.inspect(
      configOf({ hosts: set.sentinel.address, sentinel: 'other' }),
      clock,
    )
    assert.ok('refused' in refused)
    assert.match(refused.detail, /^the primary "other" of .* is not known to the sentinels \(/)
    assert.equal(refused.remedy, 'check sentinel')
  })

  test('a failover during a stream of reads and writes costs some of them, and recovers by itself', async (t) => {
    // A sentinel that is down is passed over.
    const hosts = `127.0.0.1:${await freePort()},${set.sentinel.address}`
    const store = await redisStore({ hosts, sentinel: set.name }, { clock })
    t.after(store.close)
    const stream = new Stream(store)
    const untilWritten = async (count: number) => {
      const from = stream.written
      await eventually(
        () => stream.step(),
        () => stream.written >= from + count,
      )
    }
    await untilWritten(20)
    await set.primary.kill()
    await eventually(
      () => stream.step(),
      () => stream.failed > 0,
    )
    await untilWritten(20)
    assert.match(String(await set.replica.command('INFO', 'replication')), /role:master/)
    assert.ok(stream.read > 20, `reads: ${stream.read}`)
    assert.ok((await store.cells.put({ pk: 'p', sk: 's' }, draft, { is: 'absent' })).ok)
    await eventually(
      async () => isOk(store),
      (is) => is,
    )
  })

  test('a primary that hangs is replaced, too', async (t) => {
    await set.primary.restart()
    // The sentinel would send it itself, ten seconds later.
    await set.primary.command('REPLICAOF', '127.0.0.1', set.replica.port)
    await eventually(
      () => set.primary.command('INFO', 'replication'),
      (info) => /master_link_status:up/.test(String(info)),
    )
    const store = await redisStore(
      { hosts: set.sentinel.address, sentinel: set.name },
      { clock, timeoutMs: 250 },
    )
    t.after(store.close)
    const stream = new Stream(store)
    await eventually(
      () => stream.step(),
      () => stream.written >= 5,
    )
    set.replica.pause()
    t.after(() => set.replica.resume())
    await eventually(
      () => stream.step(),
      () => stream.failed > 0,
    )
    const before = stream.written
    await eventually(
      () => stream.step(),
      () => stream.written >= before + 5,
    )
    assert.match(String(await set.primary.command('INFO', 'replication')), /role:master/)
  })
})

/** Writes the same buckets again and again; a read must return the content that was written with its clock. */
class Stream {
  readonly #store: RedisStore
  readonly #panes = new Map<number, Pane>()
  readonly #key = paneFetched('stream', { from: 0, to: 1 }, 0)[0]
  #clock = clock.now()
  written = 0
  read = 0
  failed = 0

  constructor(store: RedisStore) {
    this.#store = store
  }

  async step(): Promise<void> {
    const fetchedAt = ++this.#clock
    const [, entry] = paneFetched('stream', { from: 0, to: 20 }, fetchedAt)
    this.#panes.set(fetchedAt, entry.pane)
    const found = await this.#writeAndRead(entry)
    if (found !== undefined && found.panes.length > 0) this.#check(found.panes)
  }

  async #writeAndRead(entry: Entry): Promise<Found | undefined> {
    try {
      if (await this.#store.panes.write(this.#key, entry)) this.written++
      return await this.#store.panes.read(this.#key, { from: 0, to: 20 })
    } catch {
      this.failed++
      return undefined
    }
  }

  #check(panes: readonly Pane[]): void {
    const [pane] = panes
    const written = this.#panes.get(clockOf(pane!, 0))
    if (written === undefined || panes.length !== 1) assert.fail('buckets that were never written')
    assert.ok(join(panes).body.bytes.equals(join([written]).body.bytes))
    this.read++
  }
}
