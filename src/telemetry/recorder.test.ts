import assert from 'node:assert/strict'
import { test } from 'node:test'
import { samplePlan, sampleVisit, visits } from '../../test/rigs/visits.ts'
import { recordOf } from './record.ts'
import { Recorder } from './recorder.ts'

const record = (name: keyof typeof visits) => recordOf('main', visits[name])

const withShape = (shape: string, totalMs = 10) =>
  recordOf('main', sampleVisit({ outcome: 'hit' }, { plan: { ...samplePlan, shape }, totalMs }))

test('the newest come first, and the oldest are dropped', () => {
  const recorder = new Recorder({ maxRecords: 3 })
  for (let i = 1; i <= 5; i++) recorder.add(withShape(`s${i}`))
  const listed = recorder.list({}, { limit: 10 })
  assert.deepEqual(
    listed.map(({ id, record: { shape } }) => [id, shape]),
    [
      [5, 's5'],
      [4, 's4'],
      [3, 's3'],
    ],
  )
  assert.deepEqual(
    recorder.list({}, { limit: 1, after: 3 }).map(({ id }) => id),
    [5],
  )
  assert.deepEqual(
    recorder.list({}, { limit: 9, after: 4 }).map(({ id }) => id),
    [5],
  )
})

test('bytes are bounded, also by records that are too big by themselves', () => {
  const recorder = new Recorder({ maxRecords: 1000, maxBytes: 10_000 })
  for (let i = 0; i < 500; i++) {
    recorder.add(withShape('y'.repeat((i * 37) % 2000)))
    assert.ok(recorder.bytes <= 10_000 && recorder.count >= 1)
  }
  const tiny = new Recorder({ maxBytes: 100 })
  for (let i = 0; i < 5; i++) tiny.add(withShape('s'))
  assert.deepEqual([tiny.count, tiny.bytes, tiny.list({}, { limit: 5 })], [0, 0, []])
})

test('filters', () => {
  const recorder = new Recorder()
  for (const name of Object.keys(visits) as (keyof typeof visits)[]) recorder.add(record(name))
  recorder.add(withShape('["SUM(x)"]', 500))
  const count = (filter: Parameters<Recorder['list']>[0]) => recorder.list(filter, { limit: 100 }).length
  assert.equal(count({}), 8)
  assert.equal(count({ outcomes: new Set(['hit', 'stale']) }), 3)
  assert.equal(count({ reasons: new Set(['client_gone']) }), 1)
  assert.equal(count({ shape: 'sum(X' }), 1)
  assert.equal(count({ minMs: 100 }), 1)
  assert.equal(count({ backend: 'other' }), 0)
})

test('subscribers get the records of their filter, until they stop, and are not too many', () => {
  const recorder = new Recorder({ maxSubscribers: 2 })
  const heard: number[] = []
  const stop = recorder.subscribe({ outcomes: new Set(['hit']) }, ({ id }) => heard.push(id))
  assert.ok(recorder.subscribe({}, () => {}))
  assert.equal(
    recorder.subscribe({}, () => {}),
    undefined,
  )
  recorder.add(record('hit'))
  recorder.add(record('partial'))
  recorder.add(record('hit'))
  stop!()
  recorder.add(record('hit'))
  assert.deepEqual([heard, recorder.subscribers], [[1, 3], 1])
})
