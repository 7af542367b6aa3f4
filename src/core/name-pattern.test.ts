import assert from 'node:assert/strict'
import test from 'node:test'
import { namedLike } from './name-pattern.ts'

test('a star stands for any characters, also for none', () => {
  const names = ['a-b', 'a-bc', 'xa-b', 'xa-bc', 'ab']
  const matched = (...patterns: string[]) => names.filter(namedLike(patterns))
  assert.deepEqual(matched('a-b'), ['a-b'])
  assert.deepEqual(matched('a-b*'), ['a-b', 'a-bc'])
  assert.deepEqual(matched('*a-b'), ['a-b', 'xa-b'])
  assert.deepEqual(matched('*a-b*'), ['a-b', 'a-bc', 'xa-b', 'xa-bc'])
  assert.deepEqual(matched('ab', 'xa-b'), ['xa-b', 'ab'])
  assert.deepEqual(matched(), [])
})
