import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../fidelity/client.ts'
import { compareAnswers, isNearly } from './compare.ts'

const answer = (body: string, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/json', 'x-druid-response-context': '{}', ...headers },
  body: Buffer.from(body),
})
const row = '[{"timestamp":"2026-01-01T00:00:00.000Z","result":{"n":4,"d":1.25}}]'
const whatDiffers = (direct: Answer, proxied: Answer) => {
  const verdict = compareAnswers(direct, proxied)
  return typeof verdict === 'string' ? verdict : verdict.what
}

test('status, headers that clients read and every byte are compared', () => {
  assert.equal(whatDiffers(answer(row), answer(row)), 'equal')
  assert.equal(whatDiffers(answer(row), answer(`${row}\n`)), 'body')
  assert.equal(whatDiffers(answer(row), answer(row, 203)), 'status')
  const partial = answer(row, 200, { 'x-druid-response-context': '{"missingSegments":[]}' })
  assert.equal(whatDiffers(answer(row), partial), 'x-druid-response-context')
  assert.equal(whatDiffers(answer(row, 200, { vary: 'Accept-Encoding' }), answer(row)), 'vary')
})

test('errors are compared by their kind', () => {
  const error = (message: string, host: string) =>
    answer(JSON.stringify({ error: 'Unknown exception', errorMessage: message, host }), 500)
  assert.equal(whatDiffers(error('a', 'x'), error('a', 'y')), 'equal')
  assert.equal(whatDiffers(error('a', 'x'), error('b', 'x')), 'body')
})

test('other digits are forgiven only where they are expected, and only the last ones', () => {
  const sum = (text: string) => answer(row.replace('1.25', text))
  assert.equal(
    compareAnswers(sum('13301.333333333336'), sum('13301.333333333328'), { inexact: 'double' }),
    'other digits',
  )
  assert.equal(typeof compareAnswers(sum('13301.333333333336'), sum('13301.333333333328')), 'object')
  assert.equal(
    typeof compareAnswers(sum('13301.33333333'), sum('13301.33333444'), { inexact: 'double' }),
    'object',
  )
  assert.equal(isNearly('424.3', '424.30005', 'float'), true)
  assert.equal(isNearly('424.3', '424.4', 'float'), false)
  assert.equal(isNearly('[1.0E-7,null]', '[1.0E-7,0.0]', 'float'), false)
})

test('whole numbers and times are exact, also where digits are forgiven', () => {
  assert.equal(isNearly('1767254400000', '1767254400001', 'float'), false)
  assert.equal(isNearly(row, row.replace('T00:00:00.000Z', 'T00:00:01.000Z'), 'float'), false)
  assert.equal(isNearly(row, row.replace('2026-01-01', '2026-01-02'), 'float'), false)
})

test('another spelling is forgiven only where the form permits it', () => {
  const [one, other] = ['[{"a":1,"b":2}]', '[{"b":2,"a":1}]']
  assert.equal(whatDiffers(answer(one), answer(other)), 'body')
  assert.equal(compareAnswers(answer(one), answer(other), { isSame: () => true }), 'other spelling')
  assert.equal(typeof compareAnswers(answer(one), answer(other), { isSame: () => false }), 'object')
})
