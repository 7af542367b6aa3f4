import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WireRequest } from '../backend.ts'
import { wholeAnswers } from './whole.ts'

const now = 1_700_000_000_000
const answers = wholeAnswers({ refused: ['stats'] })

const get = (path: string, search = ''): WireRequest => ({
  ...{ method: 'GET', path: `/api/v1/${path}`, search, headers: [], body: Buffer.alloc(0) },
})
const post = (path: string, body: string): WireRequest => ({
  ...get(path),
  method: 'POST',
  headers: ['content-type', 'application/x-www-form-urlencoded'],
  body: Buffer.from(body),
})
const planOf = (request: WireRequest) => {
  const plan = answers.plan(request, now)
  assert.equal(answers.claims(request.method, request.path) || plan === undefined, true)
  return plan
}

test('which paths are which endpoint', () => {
  for (const [path, endpoint] of Object.entries({
    labels: 'labels',
    'label/job/values': 'labels',
    'label/__name__/values': 'labels',
    series: 'series',
    metadata: 'metadata',
    rules: 'rules',
    alerts: 'rules',
    query_exemplars: 'exemplars',
    'status/buildinfo': 'status',
    'status/flags': 'status',
    'query?': undefined,
    'status/runtimeinfo': undefined,
    'status/tsdb': undefined,
    targets: undefined,
    query_range: undefined,
    'label/job': undefined,
    'labels/': undefined,
  }))
    assert.equal(planOf(get(path))?.endpoint, endpoint, path)
})

test('forms are read where the database reads them, and no other method is', () => {
  for (const path of ['query', 'labels', 'series', 'query_exemplars'])
    assert.ok(planOf(post(path, 'query=up&match[]=a')), path)
  for (const path of ['metadata', 'rules', 'alerts', 'label/a/values', 'status/flags'])
    assert.equal(answers.claims('POST', `/api/v1/${path}`), false, path)
  for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
    assert.equal(answers.claims(method, '/api/v1/series'), false, method)
  assert.equal(planOf({ ...post('labels', '{}'), headers: ['content-type', 'application/json'] }), undefined)
  assert.equal(planOf(get('labels', 'a=%zz')), undefined)
  assert.equal(planOf(get('labels', 'a;b=1')), undefined)
})

test('the text is the question: everything but how it is written', () => {
  const text = (request: WireRequest) => planOf(request)!.text
  assert.equal(
    text(get('series', 'match[]=a&match[]=b&limit=3')),
    text(post('series', 'limit=3&match%5B%5D=a&match[]=b')),
  )
  const unlike = [
    get('series', 'match[]=a&match[]=b'),
    get('series', 'match[]=b&match[]=a'),
    get('series', 'match[]=a'),
    get('series', 'match[]=a&limit=3'),
    get('series', 'match[]=a&limit='),
    get('series', 'match[]=a&start=1'),
    get('series', 'match[]=a&unknown=1'),
    get('labels', 'match[]=a'),
  ].map(text)
  assert.equal(new Set(unlike).size, unlike.length)
  const secret = text(get('labels', 'access_token=hunter2'))
  assert.equal(secret.includes('hunter2'), false)
  assert.notEqual(secret, text(get('labels', 'access_token=hunter3')))
})

test('the time of an instant query is not part of its text; without one it is now', () => {
  const plain = planOf(get('query', 'query=up'))!
  assert.deepEqual([plain.endpoint, plain.at, plain.query], ['instant', now, 'up'])
  const timed = planOf(post('query', 'time=1700000001.5&query=up&time=3'))!
  assert.deepEqual([timed.at, timed.text], [now + 1_500, plain.text])
  assert.equal(planOf(get('query', 'query=up&time=2023-11-14T22:13:20Z'))!.at, now)
  assert.notEqual(planOf(get('query', 'query=up&timeout=3'))!.text, plain.text)
  for (const search of ['', 'query=', 'query=up&time=yesterday', 'query=up&time=2023', 'query=up&stats=all'])
    assert.equal(planOf(get('query', search)), undefined, search)
})

test('bounds that move with the clock: the question without them', () => {
  const moving = (request: WireRequest) => planOf(request)!.moving
  const bounded = moving(get('labels', 'match[]=a&start=1700000000&end=1700000060'))!
  assert.deepEqual([bounded.from, bounded.to], [now, now + 60_000])
  assert.equal(bounded.text, moving(post('labels', 'end=1700000090.5&start=1700000030&match[]=a'))!.text)
  assert.equal(bounded.text, planOf(get('labels', 'match[]=a'))!.text)
  for (const search of ['match[]=b&start=1&end=2', 'match[]=a&start=1&end=2&limit=1'])
    assert.notEqual(bounded.text, moving(get('labels', search))!.text)
  for (const search of ['match[]=a', 'start=1', 'end=1', 'start=yesterday&end=2'])
    assert.equal(moving(get('labels', search)), undefined, search)
  assert.equal(moving(get('query', 'query=up&start=1&end=2')), undefined)
})

test('only complete answers are stored', () => {
  const plan = planOf(get('labels'))!
  const isComplete = (text: string) =>
    answers.isComplete!(Buffer.from(text), plan, { headers: [], trailers: [] })
  assert.ok(isComplete('{"status":"success","data":["warnings",":["]}'))
  assert.ok(isComplete('{"status":"success","data":[{"a":"\\"warnings\\":["}],"infos":["x"]}'))
  assert.ok(isComplete('{"status":"success","data":[],"warnings":["results truncated due to limit"]}'))
  for (const text of [
    '',
    '<html>',
    '{"status":"error"}',
    '{"status":"success","data":[],"warnings":["x"]}',
    '{"status":"success","data":[],"warnings":["results truncated due to limit","x"]}',
    '{"status":"success","isPartial":true,"data":[]}',
    '{"status":"success","data":["a\u0001"]}',
    '{"status":"success","data":["a\\\n"]}',
    '{"status":"success","data":[]}{}',
    '{"status":"success","data":[]}\u0000',
  ])
    assert.equal(isComplete(text), false, text)
})

test('a connection that ends within an answer does not make it complete', () => {
  const plan = planOf(get('labels'))!
  const whole = '{"status":"success","data":["a\\"}","b"],"infos":["{"]}'
  const isComplete = (length: number) =>
    answers.isComplete!(Buffer.from(`${whole}\n`).subarray(0, length), plan, { headers: [], trailers: [] })
  for (let length = 0; length < whole.length; length++) assert.equal(isComplete(length), false)
  assert.ok(isComplete(whole.length) && isComplete(whole.length + 1))
})
