/**
 * Cassandra's own behaviour: write times, expiry, tombstones, partitions, and transactions whose outcome is unknown.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import type { Session } from '../../src/stores/cassandra/connection.ts'
import { createTables, examineCassandra, inspectCassandra } from '../../src/stores/cassandra/inspect.ts'
import { codeOf, errorCodes } from '../../src/stores/cassandra/library.ts'
import { tableNames } from '../../src/stores/cassandra/tables.ts'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import type { RowEngine, RowWrite, StoredRow } from '../../src/stores/rows/row-engine.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { eventually, until } from '../wait.ts'
import { type CassandraRig, cassandraRig } from './cassandra-rig.ts'
import { tcpRelay } from './tcp-relay.ts'

const found = await cassandraRig('engine')
const options = { skip: skipReason(found) }
const rig = found as CassandraRig
after(() => (isUnavailable(found) ? undefined : found.end()))

const hour = 3_600_000
const everything = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
const now = systemClock.now()

const rowOf = (from: number, buckets: number, clock: number): StoredRow => ({
  ...{ from, buckets, clock },
  value: Buffer.from(`${from}+${buckets}@${clock}`),
})
const changes = (given: Partial<RowWrite>): RowWrite => ({
  ...{ put: [], drop: [], now: systemClock.now(), retentionMs: hour },
  ...given,
})
const put = (engine: RowEngine, ...rows: readonly StoredRow[]): Promise<void> =>
  engine.write('key', changes({ put: rows }))
const read = async (engine: RowEngine, range = everything): Promise<readonly StoredRow[]> =>
  (await engine.read('key', range)).rows

test('an older fetch that arrives later loses, by its write time alone', options, async () => {
  const engine = rig.rows()
  await put(engine, rowOf(64, 64, now + 5))
  await put(engine, rowOf(64, 64, now))
  assert.deepEqual(await read(engine), [rowOf(64, 64, now + 5)])
})

test('a long row removes the older rows that it covers, and no others', options, async () => {
  const engine = rig.rows()
  const [before, newer, behind] = [rowOf(63, 1, now), rowOf(66, 1, now + 9), rowOf(128, 1, now)]
  await put(engine, before, rowOf(64, 1, now), rowOf(64, 4, now), newer, rowOf(127, 1, now), behind)
  await put(engine, rowOf(64, 64, now + 5))
  assert.deepEqual(await read(engine), [before, rowOf(64, 64, now + 5), newer, behind])
  // Late, and covered by something newer.
  await put(engine, rowOf(80, 16, now + 1))
  assert.deepEqual(await read(engine), [before, rowOf(64, 64, now + 5), newer, behind])
})

test(
  'a removed row stays removed for writes of the same or an older clock, and comes back with a newer one',
  options,
  async () => {
    const engine = rig.rows()
    await put(engine, rowOf(0, 1, now), rowOf(1, 1, now + 1))
    await engine.write('key', changes({ drop: [rowOf(0, 1, now), rowOf(1, 1, now)] }))
    assert.deepEqual(await read(engine), [rowOf(1, 1, now + 1)])
    await put(engine, rowOf(0, 1, now - 1))
    assert.deepEqual(await read(engine), [rowOf(1, 1, now + 1)])
    await put(engine, rowOf(0, 1, now + 2))
    assert.deepEqual(await read(engine), [rowOf(0, 1, now + 2), rowOf(1, 1, now + 1)])
  },
)

test(
  'rows far apart are found without bounds, and a bounded read has none but its own',
  options,
  async () => {
    const engine = rig.rows()
    const rows = [-(2 ** 40), -64, 0, 511, 512, 100_000, 2 ** 40].map((from) => rowOf(from, 1, now))
    await put(engine, ...rows)
    assert.deepEqual(await read(engine), rows)
    assert.deepEqual(await read(engine, { from: 511, to: 100_000 }), [rows[3], rows[4]])
    assert.deepEqual(await read(engine, { from: 0, to: 2 ** 40 }), rows.slice(2, 6))
    assert.deepEqual(await read(engine, { from: 5, to: 5 }), [])
  },
)

test('large rows are written in several requests and read in several pages', options, async () => {
  const engine = rig.rows()
  const rows = Array.from({ length: 700 }, (_, i) => ({
    ...rowOf(i, 1, now),
    value: Buffer.alloc(i === 3 ? 3 * 1024 * 1024 : 16 * 1024, i),
  }))
  await put(engine, ...rows)
  assert.deepEqual(await read(engine), rows)
})

test('rows and records are deleted by the server when their time is over, others stay', options, async () => {
  const engine = rig.rows()
  const [long, short] = [rowOf(7, 1, systemClock.now()), rowOf(8, 1, systemClock.now())]
  const record = { value: Buffer.from('record'), clock: systemClock.now() }
  await engine.write('long', changes({ record, stamp: record, put: [long] }))
  await engine.write('short', changes({ record, stamp: record, put: [short], retentionMs: 1000 }))
  await eventually(
    () => engine.read('short', everything),
    ({ record: left, stamp, rows }) => left === undefined && stamp === undefined && rows.length === 0,
  )
  const { value } = record
  assert.deepEqual(await engine.read('long', everything), { record: value, stamp: value, rows: [long] })
})

test(
  'a cell is deleted by the server a while after its collection clock, one without such a clock never',
  options,
  async () => {
    const engine = rig.cells(systemClock)
    const cell = { kind: 'k', v: 1, clocks: {}, value: Buffer.from('v') }
    const collectAt = Math.ceil(systemClock.now() / 1000) + 10
    await engine.commit('p', [
      { sk: 'a', expected: undefined, row: { ...cell, rev: '1', collectAt } },
      { sk: 'b', expected: undefined, row: { ...cell, rev: '2', collectAt: 'never' } },
    ])
    const query = `SELECT sk, ttl(rev) AS left FROM engine.cells WHERE sk IN ('a', 'b') ALLOW FILTERING`
    const { rows = [] } = await rig.session.execute({ query, params: [] }, anyOptions)
    const [a, b] = rows.map((row) => row['left'] as number | null)
    assert.ok(a! > 10 && a! <= 72, `${a} s`)
    assert.equal(b, null)
  },
)

const anyOptions = { prepare: true, isIdempotent: true, consistency: 1 } as const

/** The cluster behind a wrapper that fails in its own way. */
const wrapped = (change: Partial<Session>): Session => ({
  execute: (statement, given) => rig.session.execute(statement, given),
  batch: (statements, given) => rig.session.batch(statements, given),
  ...change,
})

const serverError = (code: number, message: string): Error => Object.assign(new Error(message), { code })

test(
  'a read that the server gives up because of tombstones is a miss; other failures are failures',
  options,
  async () => {
    const failing = (code: number): Session =>
      wrapped({
        async execute(statement, given) {
          if (statement.query.includes('writetime')) throw serverError(code, 'query aborted')
          return rig.session.execute(statement, given)
        },
      })
    const record = { value: Buffer.from('record'), clock: now }
    const engine = rig.rows(failing(errorCodes.readFailure))
    await engine.write('key', changes({ record, put: [rowOf(0, 1, now)] }))
    assert.deepEqual(await engine.read('key', { from: 0, to: 64 }), {
      ...{ record: record.value, stamp: undefined, rows: [] },
    })
    const other = rig.rows(failing(0x1200))
    await assert.rejects(other.read('key', { from: 0, to: 64 }), (error) => codeOf(error) === 0x1200)
  },
)

const writeTimeout = serverError(0x1100, 'CAS operation timed out')
const id = { pk: 'p', sk: 'a' }
const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from('v') } as const

test('a transaction that timed out after it was applied has succeeded', options, async () => {
  let timeouts = 0
  const session = wrapped({
    async execute(statement, given) {
      const result = await rig.session.execute(statement, given)
      if (!/ IF rev /.test(statement.query)) return result
      timeouts++
      throw writeTimeout
    },
  })
  const cells = new RowCells(rig.cells(systemClock, session), systemClock)
  const outcome = await cells.put(id, draft, { is: 'absent' })
  assert.ok(outcome.ok)
  assert.equal((await cells.get(id, 1))?.rev, outcome.rev)
  assert.equal(await cells.remove(id, { is: 'revision', rev: outcome.rev }), true)
  assert.equal(await cells.get(id, 1), undefined)
  assert.equal(timeouts, 2)
})

test('one that timed out before it was applied has not been, and reports it', options, async () => {
  const session = wrapped({
    async execute(statement, given) {
      if (/ IF rev /.test(statement.query)) throw writeTimeout
      return rig.session.execute(statement, given)
    },
  })
  const cells = new RowCells(rig.cells(systemClock, session), systemClock)
  const outcome = await cells.put(id, draft, { is: 'absent' }).catch((error: unknown) => error)
  assert.notEqual((outcome as { ok?: boolean }).ok, true)
  assert.equal(await cells.get(id, 1), undefined)
})

test('tables are created once; existing ones are found, and the doctor is content', options, async () => {
  const config = { ...rig.config, keyspace: 'engine_setup' }
  const names = tableNames.map((name) => `engine_setup.${name}`)
  const { version } = rig
  assert.deepEqual(await inspectCassandra(config, systemClock), { version, missing: names })
  assert.deepEqual((await examineCassandra(config, systemClock)).map(({ status }) => status).at(-1), 'fail')
  assert.deepEqual(await createTables(config, systemClock), { created: names })
  assert.deepEqual(await createTables(config, systemClock), { created: [] })
  assert.deepEqual(await inspectCassandra(config, systemClock), { version, missing: [] })
  assert.equal((await examineCassandra(config, systemClock)).at(-1)?.status, 'ok')
})

test('an unknown data centre is reported, with the known ones', options, async (t) => {
  const [, port] = rig.config.hosts.split(':')
  const relay = await tcpRelay(Number(port))
  await relay.open()
  t.after(() => relay.close())
  const config = { ...rig.config, hosts: `127.0.0.1:${relay.port}`, dc: 'elsewhere' }
  const refused = await inspectCassandra(config, systemClock)
  assert.ok('refused' in refused)
  assert.equal(refused.refused, 'unreachable')
  assert.match(refused.detail, /elsewhere.*datacenter1/)
  // It is tried again and again: nothing may be left over.
  await until(() => relay.connections === 0)
})
