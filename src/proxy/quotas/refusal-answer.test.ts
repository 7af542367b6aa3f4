import assert from 'node:assert/strict'
import test from 'node:test'
import type { Limit, Refusal } from '../../limits/limit.ts'
import { rateLimitFields } from './rate-limit-fields.ts'
import { refusalAnswer } from './refusal-answer.ts'

const requests: Limit = { name: 'requests', capacity: 600, refillAmount: 100, refillPeriodSeconds: 60 }
const cost: Limit = { name: 'cost', capacity: 86_400, refillAmount: 3600, refillPeriodSeconds: 3600 }
const status = (limit: Limit, available: number, isExceeded = false) => ({ limit, available, isExceeded })

test('the fields have the remaining tokens and the time of the next', () => {
  assert.deepEqual(rateLimitFields([status(requests, 599), status(cost, 86_400)]), [
    'RateLimit',
    '"requests";r=599;t=1, "cost";r=86400',
    'RateLimit-Policy',
    '"requests";q=600;w=360, "cost";q=86400;qu="cost";w=86400',
  ])
  assert.deepEqual(rateLimitFields([]), [])
})

test('debt is shown as nothing left', () => {
  assert.match(rateLimitFields([status(cost, -500)])[1]!, /^"cost";r=0;t=1$/)
})

test('a refusal has the time to try again, in whole seconds that are never too early', () => {
  const refusal: Refusal = {
    ok: false,
    cause: 'exceeded',
    retryAfterSeconds: 1.001,
    limits: [status(requests, 0, true), status(cost, 5)],
  }
  const { status: code, reason, headers, body } = refusalAnswer(refusal)
  assert.equal(code, 429)
  assert.equal(reason, 'over_quota')
  assert.deepEqual(headers.slice(0, 6), [
    'Content-Type',
    'application/problem+json',
    'Retry-After',
    '2',
    'RateLimit',
    '"requests";r=0;t=2, "cost";r=5;t=1',
  ])
  assert.deepEqual(JSON.parse(body), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: 'windowpane: the limit requests of this client is used up; try again in 2 s',
    'violated-policies': ['requests'],
  })
})

test('a request that can never be permitted has no time to try again', () => {
  const refusal: Refusal = { ok: false, cause: 'never', limits: [status(cost, 86_400, true)] }
  const { status: code, reason, headers, body } = refusalAnswer(refusal)
  assert.deepEqual([code, reason], [429, 'quota_never'])
  assert.ok(!headers.includes('Retry-After'))
  assert.match(headers[3]!, /^"cost";r=86400$/)
  assert.match(JSON.parse(body).detail, /can ever hold/)
})

test('a store that does not answer is no fault of the client', () => {
  const {
    status: code,
    reason,
    headers,
    body,
  } = refusalAnswer({ ok: false, cause: 'unavailable', limits: [] })
  assert.deepEqual([code, reason], [503, 'quota_unavailable'])
  assert.deepEqual(headers, ['Content-Type', 'application/problem+json', 'Retry-After', '1'])
  assert.match(JSON.parse(body).type, /#temporary-reduced-capacity$/)
})
