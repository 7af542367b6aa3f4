import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KnownKeys } from './known-keys.ts'

const [one, two, three] = ['1', '2', '3'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

test('a record is written when it changes, when it is old, and when the key is gone', () => {
  const known = new KnownKeys()
  assert.ok(known.isRecordDue('k', 'a', 0))
  known.wrote('k', one, { text: 'a', at: 100 })
  known.wrote('k', two)
  assert.ok(!known.isRecordDue('k', 'a', 100))
  assert.ok(known.isRecordDue('k', 'a', 101))
  assert.ok(known.isRecordDue('k', 'b', 0))
  known.saw('k', undefined)
  assert.ok(known.isRecordDue('k', 'a', 0))
})

test('changes by others are noticed once, also where this node has written since it saw them', () => {
  const known = new KnownKeys()
  assert.ok(known.isBehind('k', one), 'an unknown key counts as changed')
  assert.ok(!known.isBehind('k', one))
  assert.ok(known.isBehind('k', two))
  known.wrote('k', three)
  assert.ok(!known.isBehind('k', three))
  known.saw('k', one)
  known.wrote('k', two)
  assert.ok(known.isBehind('k', two))
  assert.ok(!known.isBehind('k', two))
  assert.ok(!known.isBehind('k', undefined), 'a key that is gone has no newer buckets')
})
