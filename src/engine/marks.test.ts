import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { rigDefaults } from '../../test/rigs/engine-rig.ts'
import type { Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { bucketMarkOf, isPurged, type Mark, noMarks } from '../core/mark.ts'
import type { Cells } from '../stores/cells.ts'
import { guardedCells, StoreGuard } from '../stores/guard.ts'
import { memoryCells } from '../stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { Marks, type MarksOptions } from './marks.ts'

const retentionMs = 24 * 3_600_000
/** Those of the far store, where the suite is run over one. */
const newCells = (clock: FakeClock): Cells => rigDefaults.far?.(clock).cells ?? memoryCells({ clock })
const always = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY } as const

const plan: Plan = {
  text: 'rate(x[5m])',
  shape: '["rate(x[5m])",60000]',
  grid: { kind: 'point', step: 60_000, origin: 0 },
  window: { from: 0, to: 10 },
  whole: [{ from: 0, to: 10 }],
  sources: ['x'],
  knowsAllSources: true,
  lookbackMs: 300_000,
  terms: '',
  isVerbatim: true,
  request: { method: 'GET', path: '/', search: '', headers: [], body: new Uint8Array() },
}

const purgeAt = (at: EpochMs, part: Partial<Mark> = {}): Mark => ({ kind: 'purge', ...always, at, ...part })

function rig(options: Partial<MarksOptions> = {}): { clock: FakeClock; marks: Marks } {
  const clock = fakeClock()
  return { clock, marks: new Marks({ clock, retentionMs, ...options }) }
}

test('without marks nothing is made, and marks of other backends are not noticed', async () => {
  const { clock, marks } = rig()
  const main = marks.of('main')
  assert.equal(main.marksFor('key', plan), noMarks)
  await marks.add(purgeAt(clock.now(), { backend: 'other' }))
  assert.equal(main.marksFor('key', plan), noMarks)
  assert.equal(marks.of('other').marksFor('key', plan).length, 1)
})

test('a mark is in force as soon as it is added, for every question that it touches', () => {
  const { clock, marks } = rig()
  const main = marks.of('main')
  void marks.add(purgeAt(clock.now(), { source: 'x', from: 600_000, to: 660_000 }))
  assert.deepEqual(main.marksFor('key', plan), [{ kind: 'purge', at: clock.now(), from: 10, to: 16 }])
  assert.deepEqual(main.marksFor('key', { ...plan, sources: ['y'] }), [])
  assert.equal(main.marksFor('key', { ...plan, sources: [], knowsAllSources: false }).length, 1)
  assert.equal(marks.of('later').marksFor('key', plan).length, 1, 'a backend that is created later')
})

test('a mark is dropped when nothing that it is about can be used any more', async () => {
  const { clock, marks } = rig()
  await marks.add(purgeAt(clock.now()))
  await clock.advance(1000)
  await marks.add(purgeAt(clock.now(), { kind: 'stale', source: 'x' }))
  await clock.advance(retentionMs - 1001)
  assert.equal(marks.list().length, 2)
  await clock.advance(1)
  assert.equal(marks.of('main').marksFor('key', plan).length, 1)
  assert.deepEqual(
    marks.list().map(({ source }) => source),
    ['x'],
  )
  await clock.advance(1000)
  assert.deepEqual(marks.of('main').marksFor('key', plan), [], 'a lookup finds out by itself')
})

test('a purge that is repeated is one mark', async () => {
  const { clock, marks } = rig()
  for (let i = 0; i < 50; i++) {
    await clock.advance(60_000)
    await marks.add(purgeAt(clock.now(), { shape: 'up' }))
  }
  assert.deepEqual(marks.list(), [purgeAt(clock.now(), { shape: 'up' })])
  await marks.add(purgeAt(clock.now(), { backend: 'main' }))
  assert.equal(marks.list().length, 2, 'neither covers the other')
})

test('too many marks of a backend are folded: their coverage stays', async () => {
  const clock = fakeClock()
  const names = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined })
  const someMark = fc.record({
    backend: names,
    source: names,
    from: fc.nat(20),
    length: fc.integer({ min: 1, max: 9 }),
    ago: fc.nat(50),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(someMark, { minLength: 20, maxLength: 60 }), async (given) => {
      const marks = new Marks({ clock, retentionMs, maxMarks: 10 })
      const all = given.map(({ backend, source, from, length, ago }): Mark => {
        const minute = 60_000
        const named = { ...(backend !== undefined && { backend }), ...(source !== undefined && { source }) }
        return purgeAt(clock.now() - ago, { ...named, from: from * minute, to: (from + length) * minute })
      })
      for (const mark of all) await marks.add(mark)
      assert.ok(marks.list().length <= 10)
      for (const backend of ['a', 'b', 'd']) {
        for (const source of ['a', 'b', 'd']) {
          const asked = { ...plan, sources: [source] }
          const said = marks.of(backend).marksFor('key', asked)
          const each = all.map((mark) =>
            bucketMarkOf(mark, { ...asked, key: 'key', backend, query: plan.text }),
          )
          for (let bucket = 0; bucket < 40; bucket += 3) {
            for (const ago of [0, 10, 30]) {
              const isMeant = isPurged(
                bucket,
                clock.now() - ago,
                each.filter((mark) => mark !== undefined),
              )
              assert.ok(!isMeant || isPurged(bucket, clock.now() - ago, said), 'a purge was forgotten')
            }
          }
        }
      }
    }),
    { numRuns: 60 },
  )
})

test('those of one data source are folded first, and questions about others do not notice', async () => {
  const { clock, marks } = rig({ maxMarks: 20 })
  const minute = 60_000
  await marks.add(purgeAt(clock.now(), { backend: 'main', source: 'quiet', from: 0, to: minute }))
  for (let i = 0; i < 100; i++) {
    const [from, to] = [2 * i * minute, (2 * i + 1) * minute]
    await marks.add({ kind: 'stale', backend: 'main', source: 'busy', from, to, at: clock.now() + i })
  }
  assert.ok(marks.list().length <= 20)
  const marksFor = (source: string, knowsAllSources = true) =>
    marks.of('main').marksFor('key', { ...plan, sources: [source], knowsAllSources })
  assert.equal(marksFor('other'), noMarks)
  assert.deepEqual(
    marksFor('quiet').map(({ kind, from }) => [kind, from]),
    [['purge', 0]],
  )
  assert.ok(marksFor('busy').length > 1 && marksFor('busy').every(({ kind }) => kind === 'stale'))
  assert.equal(marksFor('other', false).length, marks.list().length)
})

/** Cells that count their operations. */
function counted(cells: Cells): Cells & { lists: number } {
  const counting: Cells & { lists: number } = {
    lists: 0,
    name: cells.name,
    capabilities: cells.capabilities,
    get: (id, v) => cells.get(id, v),
    list(pk, v) {
      counting.lists++
      return cells.list(pk, v)
    },
    put: (id, draft, condition) => cells.put(id, draft, condition),
    take: (id, take) => cells.take(id, take),
    remove: (id, condition) => cells.remove(id, condition),
    publish: (changes) => cells.publish(changes),
    close: () => cells.close(),
  }
  return counting
}

test('marks are there after a restart, and lapse as they would have', async () => {
  const clock = fakeClock()
  const cells = newCells(clock)
  const before = new Marks({ clock, retentionMs, cells })
  assert.equal(await before.add(purgeAt(clock.now())), true)
  await clock.advance(1)
  assert.equal(
    await before.add(purgeAt(clock.now(), { kind: 'stale', backend: 'main', from: 5, to: 9 })),
    true,
  )
  const after = new Marks({ clock, retentionMs, cells })
  await after.load()
  assert.deepEqual(new Set(after.list()), new Set(before.list()))
  after.close()
  await clock.advance(retentionMs)
  const later = new Marks({ clock, retentionMs, cells })
  await later.load()
  assert.deepEqual(later.list(), [])
  await clock.advance(0)
  assert.deepEqual(
    ((await cells.list('marks', 1)) as [string, unknown][]).map(([sk]) => sk),
    ['head'],
    'lapsed rows are removed',
  )
  later.close()
})

test('others hear of a mark within the poll, and look only when there is news', async () => {
  const clock = fakeClock()
  const cells = counted(newCells(clock))
  const [one, other] = [0, 1].map(() => new Marks({ clock, retentionMs, cells })) as [Marks, Marks]
  await one.load()
  await other.load()
  await one.add(purgeAt(clock.now(), { shape: 'up' }))
  assert.deepEqual(other.list(), [])
  await clock.advance(1000)
  assert.deepEqual(other.list(), [purgeAt(clock.now() - 1000, { shape: 'up' })])
  const { lists } = cells
  await clock.advance(60_000)
  assert.equal(cells.lists, lists)
  other.close()
  await one.add(purgeAt(clock.now(), { shape: 'down' }))
  await clock.advance(5000)
  assert.equal(other.list().length, 1, 'a closed one does not follow')
  one.close()
  assert.equal(clock.pending, 0)
})

test('folds replace the marks they were made of, and all settle on them', async () => {
  const clock = fakeClock()
  const cells = counted(newCells(clock))
  const [one, other] = [0, 1].map(() => new Marks({ clock, retentionMs, cells, maxMarks: 8 })) as [
    Marks,
    Marks,
  ]
  await one.load()
  await other.load()
  for (let i = 0; i < 40; i++) {
    await (i % 2 === 0 ? one : other).add(purgeAt(clock.now(), { shape: `q${i}`, from: i, to: i + 1 }))
    await clock.advance(700)
  }
  await clock.advance(5000)
  const { lists } = cells
  await clock.advance(5000)
  assert.equal(cells.lists, lists, 'no node writes any more')
  for (const marks of [one, other]) {
    assert.ok(marks.list().length <= 8)
    for (let i = 0; i < 40; i++) {
      const touching = marks.of('main').marksFor('key', {
        ...plan,
        text: `q${i}`,
        lookbackMs: 0,
        grid: { kind: 'point', step: 1, origin: 0 },
      })
      assert.ok(
        touching.some(({ from, to }) => from <= i && i < to),
        `q${i} was forgotten`,
      )
    }
  }
  assert.ok((await cells.list('marks', 1)).length <= 20)
  one.close()
  other.close()
})

const broken = (reason: string): Partial<Cells> => ({
  get: () => assert.fail(reason),
  list: () => assert.fail(reason),
  publish: () => assert.fail(reason),
})
const silent: Partial<Cells> = {
  get: () => new Promise(() => {}),
  list: () => new Promise(() => {}),
  publish: () => new Promise(() => {}),
}
const refusing: Partial<Cells> = {
  get: () => undefined,
  list: () => [],
  publish: async () => ({ ok: false, reason: 'unavailable', failed: 0 }),
}
for (const [name, faults] of Object.entries({
  throw: broken('broken'),
  'never answer': silent,
  refuse: refusing,
})) {
  test(`cells that ${name}: the mark holds here, and the result reports that it was not stored`, async () => {
    const clock = fakeClock()
    const guard = new StoreGuard({ clock, timeoutMs: 2000 })
    const cells = guardedCells({ ...counted(newCells(clock)), ...faults }, guard)
    const marks = new Marks({ clock, retentionMs, cells, breaker: guard.breaker })
    const loading = marks.load()
    await clock.advance(10_000)
    await loading
    const adding = marks.add(purgeAt(clock.now()))
    assert.equal(marks.of('main').marksFor('key', plan).length, 1)
    await clock.advance(10_000)
    assert.equal(await adding, false)
    await clock.advance(60_000)
    assert.equal(marks.list().length, 1)
    marks.close()
  })
}

test('a store that forgets its rows takes no mark away', async () => {
  const clock = fakeClock()
  const inner = newCells(clock)
  const cells = counted(inner)
  const marks = new Marks({ clock, retentionMs, cells })
  await marks.load()
  await marks.add(purgeAt(clock.now(), { shape: 'up' }))
  await clock.advance(2000)
  cells.list = () => []
  await new Marks({ clock, retentionMs, cells: inner }).add(purgeAt(clock.now(), { shape: 'down' }))
  await clock.advance(2000)
  assert.deepEqual(
    marks.list().map(({ shape }) => shape),
    ['up'],
  )
  cells.list = (pk, v) => inner.list(pk, v)
  await clock.advance(2000)
  assert.equal(marks.list().length, 2, 'a missed mark is read later')
  marks.close()
})

test('rows that are no marks are passed over', async () => {
  const clock = fakeClock()
  const cells = newCells(clock)
  await new Marks({ clock, retentionMs, cells }).add(purgeAt(clock.now(), { shape: 'up' }))
  const odd = [
    '',
    '{',
    'null',
    '[]',
    '{"kind":"purge"}',
    '{"kind":"other","at":1}',
    '{"kind":"purge","at":"x"}',
    '{"kind":"purge","at":1,"from":5,"to":5}',
    '{"kind":"purge","at":1,"shape":7}',
  ]
  for (const [i, text] of odd.entries()) {
    const draft = { kind: 'mark', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from(text) } as const
    assert.ok((await cells.put({ pk: 'marks', sk: `odd${i}` }, draft, { is: 'absent' })).ok)
  }
  const marks = new Marks({ clock, retentionMs, cells })
  await marks.load()
  assert.deepEqual(
    marks.list().map(({ shape }) => shape),
    ['up'],
  )
  marks.close()
})
