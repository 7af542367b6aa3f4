import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sharedStore } from '../../test/rigs/engine-rig.ts'
import { memoryCells } from '../stores/memory/cells.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { countedLimiter } from './counted-limiter.ts'
import type { Limiter, Permit } from './limit.ts'
import { readUsage, UsageCounter, type UsageInWindow } from './usage.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const begin = Date.UTC(2026, 0, 1)

const lineOf = ({ start, entity, resource, permits, refusals, tokens }: UsageInWindow): string => {
  const amounts = [...tokens].map(([name, count]) => `${name}=${count}`)
  return [new Date(start).toISOString().slice(5, 13), entity, resource, permits, refusals, ...amounts].join(
    ' ',
  )
}

function rig(options = {}) {
  const clock = fakeClock(begin)
  const cells = memoryCells({ clock })
  const usage = new UsageCounter(cells, { clock, ...options })
  const read = async (kind: 'hour' | 'day', more: { entity?: string } = {}) =>
    (await readUsage(cells, { kind, from: begin, to: clock.now() + 1, ...more })).map(lineOf)
  return { clock, cells, usage, read }
}

test('the first request counts, in the hour and on the day in which it happens', async () => {
  const { clock, usage, read } = rig()
  usage.permitted('a', 'main', { requests: 1, cost: 10 })
  await clock.advance(hourMs)
  usage.permitted('a', 'main', { requests: 1 })
  usage.refused('b', 'main')
  usage.adjusted('a', 'main', { cost: 5 })
  await usage.flush()
  assert.deepEqual(await read('hour'), [
    '01-01T01 a main 1 0 requests=1 cost=5',
    '01-01T01 b main 0 1',
    '01-01T00 a main 1 0 requests=1 cost=10',
  ])
  assert.deepEqual(await read('day', { entity: 'a' }), ['01-01T00 a main 2 0 requests=2 cost=15'])
})

test('sums are written by themselves within 30 s, and kept for 90 days', async () => {
  const { clock, cells, usage, read } = rig()
  usage.permitted('a', 'main', { requests: 1 })
  await clock.advance(29_999)
  assert.deepEqual(await read('day'), [])
  await clock.advance(1)
  assert.deepEqual(await read('day'), ['01-01T00 a main 1 0 requests=1'])
  assert.equal(clock.pending, 0)
  await clock.advance(90 * dayMs)
  const day = { kind: 'day', from: begin, to: begin + 1 } as const
  assert.equal((await readUsage(cells, day)).length, 1)
  await clock.advance(dayMs)
  assert.equal((await readUsage(cells, day)).length, 0)
})

test('whatever fails and however often it is written, nothing is counted twice and nothing is lost', async () => {
  const step = fc.record({
    process: fc.nat(2),
    entity: fc.constantFrom('a', 'b', 'constructor'),
    amount: fc.nat(100),
    flushes: fc.boolean(),
    waitMs: fc.nat(hourMs),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.nat(6), async (steps, tenths) => {
      const clock = fakeClock(begin)
      let share = tenths / 10
      const cells = asynchronous(sharedStore(clock), { clock, failures: () => share }).cells!
      const processes = [0, 1, 2].map(() => new UsageCounter(cells, { clock }))
      const expected = new Map<string, number>()
      for (const { process, entity, amount, flushes, waitMs } of steps) {
        processes[process]!.permitted(entity, 'main', { cost: amount })
        expected.set(entity, (expected.get(entity) ?? 0) + amount)
        if (flushes) await processes[process]!.flush()
        await clock.advance(waitMs)
      }
      share = 0
      for (const process of processes) assert.ok(await process.flush())
      for (const kind of ['hour', 'day'] as const) {
        const sums = new Map<string, number>()
        for (const { entity, tokens } of await readUsage(cells, { kind, from: begin, to: clock.now() + 1 })) {
          sums.set(entity, (sums.get(entity) ?? 0) + tokens.get('cost')!)
        }
        assert.deepEqual(sums, expected)
      }
      assert.ok(processes.every(({ lost }) => lost === 0))
    }),
    { numRuns: 40 },
  )
})

test('a store that is down for long costs the oldest windows, which are counted', async () => {
  const clock = fakeClock(begin)
  const cells = asynchronous(sharedStore(clock), { clock, failures: () => 1 }).cells!
  const usage = new UsageCounter(cells, { clock })
  for (let hour = 0; hour < 10; hour++) {
    usage.permitted('a', 'main', { requests: 1 })
    await clock.advance(hourMs)
  }
  assert.equal(usage.lost, 6)
})

test('entities beyond the bound are counted together, and long names take no room', async () => {
  const { usage, cells, read } = rig({ maxEntries: 2000 })
  for (let i = 0; i < 10_000; i++) usage.permitted(`entity-${i}`, 'main', { requests: 1 })
  usage.permitted('x'.repeat(100_000), 'main', { requests: 1 })
  await usage.flush()
  const lines = await read('hour')
  assert.equal(lines.length, 2001)
  assert.ok(lines.includes('01-01T00 _other_ _other_ 8001 0 requests=8001'))
  const rows = await cells.list('LIMITS#USAGE#HOUR#2026-01-01T00', 1)
  assert.ok(rows.length > 10 && rows.every(([, { value }]) => value.length <= 64 * 1024))
})

test('a permit is counted with its adjustments, and not once it is given back', async () => {
  const { usage, read } = rig()
  const done: string[] = []
  const permit: Permit = {
    ...{ ok: true, source: 'system', limits: [] },
    adjust: (delta) => void done.push(JSON.stringify(delta)),
    refund: () => void done.push('refund'),
  }
  let outcome: Awaited<ReturnType<Limiter['acquire']>> = permit
  const limiter = countedLimiter({ acquire: async () => outcome, status: () => undefined }, usage)
  const request = { entity: 'a', resource: 'main', consume: { requests: 1, cost: 10 } }
  const kept = (await limiter.acquire(request)) as Permit
  await kept.adjust({ cost: -4 })
  const returned = (await limiter.acquire(request)) as Permit
  await returned.adjust({ cost: 7 })
  await returned.refund()
  await returned.refund()
  assert.deepEqual(done, ['{"cost":-4}', '{"cost":7}', 'refund', 'refund'])
  outcome = { ...permit, isDegraded: true }
  await limiter.acquire(request)
  outcome = { ok: false, cause: 'exceeded', limits: [] }
  await limiter.acquire(request)
  await usage.flush()
  assert.deepEqual(await read('day'), ['01-01T00 a main 2 1 requests=1 cost=6'])
})
