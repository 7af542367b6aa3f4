import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptHeaders } from './kept-headers.ts'

const backend = { keptHeaders: ['x-druid-response-context'] }
const given = ['Content-Type', 'application/json', 'Set-Cookie', 'a=b', 'X-Druid-Response-Context', '{}']

test('only listed headers are kept with a stored answer', () => {
  assert.deepEqual(keptHeaders(given, backend), [
    'Content-Type',
    'application/json',
    'X-Druid-Response-Context',
    '{}',
  ])
})

test('kept headers are shared by all hits: they cannot be changed', () => {
  assert.throws(() => (keptHeaders(given, backend) as string[]).push('Age', '1'), TypeError)
})
