/** Rows of evidence: they are read back as they were written, and other cells of the partition are ignored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CellDraft, whateverIsThere } from '../../stores/cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { EvidenceRow } from '../../ttl/learned/learner.ts'
import { EvidenceRows } from './evidence-rows.ts'
import { packSums, unpackSums } from './packed-sums.ts'

const sumsOf = fc.array(
  fc.oneof(fc.constant(0), fc.float({ min: 0, noNaN: true, noDefaultInfinity: true })),
  {
    maxLength: 300,
  },
)

test('sums come out as they went in, to seven digits', () => {
  fc.assert(
    fc.property(sumsOf, (given) => {
      const sums = Float64Array.from(given)
      assert.deepEqual(unpackSums(packSums(sums), sums.length), Float64Array.from(Float32Array.from(sums)))
    }),
  )
})

test('zeros take no room', () => {
  const sums = new Float64Array(200)
  assert.equal(packSums(sums).length, 0)
  sums.fill(1.5, 100, 110)
  assert.equal(packSums(sums).length, 4 + 10 * 4)
})

test('bytes that are no sums are refused, and nothing throws', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.oneof(fc.nat(70_000), fc.double()), (bytes, length) => {
      const sums = unpackSums(bytes, length)
      assert.ok(
        sums === undefined || (sums.length === length && sums.every((sum) => sum >= 0 && sum < Infinity)),
      )
    }),
    { numRuns: 500 },
  )
})

function stand(node = 'one') {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const rowsOf = (name: string) => new EvidenceRows({ cells, clock, backend: 'main', node: name })
  return { clock, cells, rows: rowsOf(node), rowsOf }
}

const keyOfTest = 'a-Key_'.padEnd(43, '0')
const row: EvidenceRow = {
  ...{ level: 'source', name: 'up{job="a"} ☃', at: Date.UTC(2026, 0, 1) },
  sums: Float64Array.of(0, 0.5, 2, 0, 3),
}

test('another node reads the saved evidence', async () => {
  const { rows, rowsOf } = stand()
  await rows.put(rows.skOf(row), row, undefined)
  await rows.lease(row.at + 1000)
  const { own, foreign, leases } = await rowsOf('two').list()
  assert.deepEqual([own.size, foreign.map((each) => [each.node, each.row])], [0, [['one', row]]])
  assert.deepEqual([...leases], [['one', row.at + 1000]])
  assert.equal((await rows.list()).own.size, 1)
})

test('names as long as a row can hold are saved, longer ones and texts of queries are not', () => {
  const { rows } = stand()
  assert.ok(rows.canHold({ ...row, level: 'shape', name: keyOfTest }))
  assert.ok(!rows.canHold({ ...row, level: 'shape', name: 'sum(up{token="secret"})' }))
  assert.ok(rows.canHold({ ...row, name: 'n'.repeat(200) }))
  assert.ok(!rows.canHold({ ...row, name: 'n'.repeat(201) }))
})

const garbage = fc.record(
  {
    kind: fc.constantFrom('evidence', 'learner', 'mark'),
    v: fc.constantFrom(1, 1, 1, 2),
    clocks: fc.constantFrom({}, { leaseUntil: 5 }),
    collectAt: fc.constant('never' as const),
    value: fc.uint8Array({ maxLength: 40 }),
    attributes: fc.dictionary(
      fc.constantFrom('scope', 'name', 'node', 'at', 'sums', 'other'),
      fc.oneof(fc.constantFrom('shape', 'backend', ''), fc.integer({ min: -5, max: 20 })),
    ),
  },
  { requiredKeys: ['kind', 'v', 'clocks', 'collectAt', 'value'] },
)

test('damaged rows and those of other versions are left out', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(garbage, { maxLength: 8 }), async (drafts) => {
      const { cells, rows } = stand()
      await rows.put(rows.skOf(row), row, undefined)
      for (const [i, draft] of drafts.entries()) {
        await cells.put({ pk: 'evidence#main', sk: `garbage ${i}` }, draft as CellDraft, whateverIsThere)
      }
      const { own, foreign } = await rows.list()
      assert.ok(own.has(rows.skOf(row)))
      for (const each of [...own.values(), ...foreign]) {
        assert.ok(each.row.sums.every(Number.isFinite) && Number.isFinite(each.row.at))
      }
    }),
  )
})
