import assert from 'node:assert/strict'
import test from 'node:test'
import { paneOfFetch } from '../../testing/pane-model.ts'
import type { ShapeRecord } from '../store.ts'
import { decodeRecord, encodeRecord, frameOf, type KeyRecord, revivedShape } from './record.ts'

const shape: ShapeRecord = {
  backend: 'main',
  text: 'up "é"',
  query: 'up',
  sources: ['up'],
  knowsAllSources: true,
  lookbackMs: 300_000,
  grid: { kind: 'point', step: 15_000, origin: 0 },
  identity: '',
  headers: ['vary', 'accept'],
}
const record: KeyRecord = { shape, frame: '2 abc', newest: 17.5, used: 3, changed: 4 }

test('a record is read back', () => {
  assert.deepEqual(decodeRecord(encodeRecord(record)), record)
  const endless = { ...record, shape: { ...shape, lookbackMs: Number.POSITIVE_INFINITY } }
  assert.deepEqual(decodeRecord(encodeRecord(endless)), endless)
})

test('the headers of a record are frozen: all hits of its key get the same list', () => {
  assert.ok(Object.isFrozen(decodeRecord(encodeRecord(record))!.shape.headers))
})

test('the bytes of a record equal those of earlier releases, in whatever order its members are given', () => {
  const { changed, ...rest } = record
  const text =
    '{"shape":{"backend":"main","text":"up \\"é\\"","query":"up","sources":["up"],"knowsAllSources":true,' +
    '"lookbackMs":300000,"grid":{"kind":"point","step":15000,"origin":0},"identity":"","headers":["vary","accept"]},' +
    '"frame":"2 abc","newest":17.5,"used":3,"changed":4}'
  assert.equal(encodeRecord({ changed, ...rest }).toString(), text)
})

test('members that an earlier release did not have get the most cautious value', () => {
  const { query, knowsAllSources, lookbackMs, ...old } = shape
  const cautious = { query: '', knowsAllSources: false, lookbackMs: Number.POSITIVE_INFINITY }
  assert.deepEqual(revivedShape(old as ShapeRecord), { ...old, ...cautious })
})

test('a record with a grid that cannot be computed here is absent', () => {
  const calendar = { unit: 'day', count: 1, zone: 'Nowhere/Land', origin: 0 }
  const grid = { kind: 'cell', step: 86_400_000, origin: 0, calendar } as unknown as ShapeRecord['grid']
  assert.equal(decodeRecord(encodeRecord({ ...record, shape: { ...shape, grid } })), undefined)
})

test('panes of equal frames have equal names, and others have not', () => {
  const frame = (text: string): string =>
    frameOf(paneOfFetch({ interval: { from: 0, to: 2 }, fetchedAt: 1, notes: [], columns: [], frame: text }))
  const [a, b] = [frame('a'), frame('b')]
  assert.deepEqual([frame('b'), frame('a')], [b, a])
  assert.notEqual(a, b)
})
