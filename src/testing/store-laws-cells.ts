/** Laws of cells about rows, their conditions and their clocks; see test-store.ts. */
import assert from 'node:assert/strict'
import type { Cell, CellDraft, Cells, Revision } from '../stores/cells.ts'
import type { FakeClock } from './fake-clock.ts'
import type { CellLaw } from './test-store.ts'

export const draftOf = (text: string, given: Partial<CellDraft> = {}): CellDraft => ({
  kind: 'test',
  v: 1,
  clocks: {},
  collectAt: 'never',
  value: Buffer.from(text),
  ...given,
})

export const textOf = (cell: Cell | undefined): string | undefined =>
  cell === undefined ? undefined : Buffer.from(cell.value).toString()

const id = { pk: 'T#a', sk: 'LOCK' }
const absent = { is: 'absent' } as const

async function mustPut(
  cells: Cells,
  at: typeof id,
  draft: CellDraft,
  condition: Parameters<Cells['put']>[2] = absent,
): Promise<Revision> {
  const outcome = await cells.put(at, draft, condition)
  assert.ok(outcome.ok, `refused: ${outcome.ok ? '' : outcome.reason}`)
  return outcome.rev
}

/** The rows of a `pk` as texts, in the order of the list: 'sk value'. */
const listed = async (cells: Cells, pk: string): Promise<string[]> =>
  (await cells.list(pk, 1)).map(([sk, cell]) => `${sk} ${textOf(cell)}`)

const secondsAfter = (clock: FakeClock, seconds: number): number => Math.ceil(clock.now() / 1000) + seconds

export const cellRowLaws: Readonly<Record<string, CellLaw>> = {
  async 'a row is read as it was put, whatever its bytes'({ cells, clock }) {
    const now = clock.now()
    const draft = draftOf('', {
      kind: 'meta',
      v: 7,
      clocks: { freshUntil: now + 1, staleUntil: now + 2, errorUntil: now + 3, leaseUntil: now + 1.5 },
      collectAt: secondsAfter(clock, 60),
      value: Uint8Array.from({ length: 256 }, (_, i) => i),
      attributes: { generated_at: Math.floor(now / 1000), etag: '"é"', empty: '', below: -5 },
    })
    const rev = await mustPut(cells, id, draft)
    const { value, ...rest } = (await cells.get(id, 7))!
    assert.deepEqual({ ...rest, value: [...value] }, { ...draft, rev, value: [...draft.value] })
  },

  async 'put if absent: only the first'({ cells }) {
    await mustPut(cells, id, draftOf('one'))
    const second = await cells.put(id, draftOf('two'), absent)
    assert.ok(!second.ok)
    assert.equal(second.reason, 'condition')
    assert.equal(textOf(second.current), 'one')
    assert.equal(textOf(await cells.get(id, 1)), 'one')
  },

  async 'put if expired: exactly from the instant of the clock on'({ cells, clock }) {
    const until = clock.now() + 5000
    await mustPut(cells, id, draftOf('one', { clocks: { leaseUntil: until } }))
    const contend = () => cells.put(id, draftOf('two'), { is: 'expired', deadline: 'leaseUntil' })
    await clock.advance(4999)
    assert.ok(!(await contend()).ok)
    await clock.advance(1)
    assert.ok((await contend()).ok)
    assert.equal(textOf(await cells.get(id, 1)), 'two')
  },

  async 'put if revision: a revision that was replaced or deleted never matches again'({ cells }) {
    const first = await mustPut(cells, id, draftOf('one'))
    const second = await mustPut(cells, id, draftOf('two'), { is: 'revision', rev: first })
    assert.notEqual(first, second)
    assert.ok(!(await cells.put(id, draftOf('x'), { is: 'revision', rev: first })).ok)
    assert.ok(await cells.remove(id, { is: 'revision', rev: second }))
    const third = await mustPut(cells, id, draftOf('three'))
    for (const rev of [first, second])
      assert.ok(!(await cells.put(id, draftOf('x'), { is: 'revision', rev })).ok)
    assert.ok((await cells.put(id, draftOf('four'), { is: 'revision', rev: third })).ok)
  },

  async 'an expired holder can neither renew nor publish'({ cells, clock }) {
    const rev = await mustPut(cells, id, draftOf('mine', { clocks: { leaseUntil: clock.now() + 1000 } }))
    const mine = { is: 'revision', rev, before: 'leaseUntil' } as const
    const meta = { pk: id.pk, sk: 'META' }
    await clock.advance(1000)
    assert.ok(!(await cells.put(id, draftOf('again'), mine)).ok)
    const published = await cells.publish([
      { id: meta, put: draftOf('body'), if: absent },
      { id, remove: true, if: mine },
    ])
    assert.deepEqual(published, { ok: false, reason: 'condition', failed: 1 })
    assert.equal(await cells.get(meta, 1), undefined)
  },

  async 'publish makes all changes or none'({ cells }) {
    const ids = ['a', 'b', 'c'].map((sk) => ({ pk: 'p', sk }))
    const rev = await mustPut(cells, ids[2]!, draftOf('old'))
    const changes = (last: Revision) => [
      { id: ids[0]!, put: draftOf('A'), if: absent },
      { id: ids[1]!, put: draftOf('B'), if: absent },
      { id: ids[2]!, remove: true as const, if: { is: 'revision' as const, rev: last } },
    ]
    assert.deepEqual(await cells.publish(changes(`${rev}1`)), { ok: false, reason: 'condition', failed: 2 })
    assert.deepEqual(await listed(cells, 'p'), ['c old'])
    assert.ok((await cells.publish(changes(rev))).ok)
    assert.deepEqual(await listed(cells, 'p'), ['a A', 'b B'])
    const twice = [0, 0].map((i) => ({ id: { pk: 'q', sk: String(i) }, put: draftOf('x'), if: absent }))
    assert.deepEqual(await cells.publish(twice), { ok: false, reason: 'duplicate', failed: 1 })
    assert.deepEqual(await cells.list('q', 1), [])
  },

  async 'a collected row is absent from the second of its clock on, and stays so when time goes back'(
    context,
  ) {
    const { cells, clock } = context
    const start = clock.now()
    await mustPut(cells, id, draftOf('one', { collectAt: secondsAfter(clock, 10) }))
    await clock.advance(9999)
    assert.equal(textOf(await cells.get(id, 1)), 'one')
    await clock.advance(1)
    assert.equal(await cells.get(id, 1), undefined)
    assert.deepEqual(await cells.list(id.pk, 1), [])
    clock.jump(start)
    assert.equal(await cells.get(id, 1), undefined)
    await mustPut(cells, id, draftOf('two'))
  },

  async 'a row of another schema is absent, and may be replaced'({ cells }) {
    await mustPut(cells, id, draftOf('old', { v: 1 }))
    assert.equal(await cells.get(id, 2), undefined)
    assert.deepEqual(await cells.list(id.pk, 2), [])
    await mustPut(cells, id, draftOf('new', { v: 2 }))
    assert.equal(textOf(await cells.get(id, 2)), 'new')
  },

  async 'clocks out of order are refused, and a collection clock of 0 too'({ cells, clock }) {
    const now = clock.now()
    const end = secondsAfter(clock, 10)
    const bad: Partial<CellDraft>[] = [
      { clocks: { freshUntil: now + 2, staleUntil: now + 1 } },
      { clocks: { staleUntil: now + 2, errorUntil: now + 1 } },
      { clocks: { freshUntil: now + 2, errorUntil: now + 1 } },
      { clocks: { errorUntil: end * 1000 + 1 }, collectAt: end },
      { clocks: { leaseUntil: end * 1000 + 1 }, collectAt: end },
      { collectAt: 0 },
      { collectAt: end + 0.5 },
    ]
    for (const given of bad)
      assert.deepEqual(await cells.put(id, draftOf('x', given), absent), { ok: false, reason: 'clocks' })
    await mustPut(cells, id, draftOf('x', { clocks: { errorUntil: end * 1000 }, collectAt: end }))
  },

  async 'attributes that are not flat, or have names of the row itself, are refused'({ cells }) {
    const bad = [
      { ttl: 1 },
      { rev: 'x' },
      { Name: 1 },
      { '': 1 },
      { a: 1.5 },
      { a: Number.NaN },
      { a: 'x'.repeat(1025) },
    ]
    for (const attributes of bad)
      assert.deepEqual(await cells.put(id, draftOf('x', { attributes }), absent), {
        ok: false,
        reason: 'attributes',
      })
  },

  async 'publish binds the rows of one partition'({ cells }) {
    const changes = ['p', 'q'].map((pk) => ({ id: { pk, sk: 'a' }, put: draftOf('x'), if: absent }))
    assert.deepEqual(await cells.publish(changes), { ok: false, reason: 'partition', failed: 1 })
    assert.equal(await cells.get({ pk: 'p', sk: 'a' }, 1), undefined)
  },

  async 'the largest value is kept whole, one byte more is refused'({ cells }) {
    const { maxValueBytes } = cells.capabilities
    const value = new Uint8Array(maxValueBytes).fill(171)
    await mustPut(cells, id, draftOf('', { value }))
    assert.ok(Buffer.from((await cells.get(id, 1))!.value).equals(Buffer.from(value)))
    const more = draftOf('', { value: new Uint8Array(maxValueBytes + 1) })
    const refused = await cells.put({ pk: 'p', sk: 's' }, more, absent)
    assert.deepEqual(refused, { ok: false, reason: 'too_large' })
  },

  async 'ids do not collide, and ambiguous ones are refused'({ cells }) {
    await mustPut(cells, { pk: 'ab', sk: 'c' }, draftOf('1'))
    await mustPut(cells, { pk: 'a', sk: 'bc' }, draftOf('2'))
    await mustPut(cells, { pk: 'a', sk: 'ü' }, draftOf('3'))
    assert.deepEqual(await listed(cells, 'a'), ['bc 2', 'ü 3'])
    for (const bad of [
      { pk: '', sk: 's' },
      { pk: 'p', sk: '' },
      { pk: 'a\0b', sk: 'c' },
      { pk: 'a', sk: 'b\0c' },
      { pk: 'p'.repeat(300), sk: 's'.repeat(300) },
    ]) {
      assert.deepEqual(await cells.put(bad, draftOf('x'), absent), { ok: false, reason: 'id' })
      assert.equal(await cells.get(bad, 1), undefined)
    }
  },
}
