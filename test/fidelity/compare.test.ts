import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from './client.ts'
import { outcomeOf } from './client.ts'
import { compareAnswers, splitAnnotations } from './compare.ts'

const answer = (body: string, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/json', vary: 'Accept-Encoding, Origin', ...headers },
  body: Buffer.from(body),
})
const data = '{"status":"success","data":{"resultType":"matrix","result":[]}'
const differs = (direct: string, proxied: string) => compareAnswers(answer(direct), answer(proxied))?.what

test('bodies are compared byte by byte', () => {
  assert.equal(differs(`${data}}`, `${data}}`), undefined)
  assert.equal(differs(`${data}}`, `${data} }`), 'body')
  const found = compareAnswers(answer(`${data}}`), answer(data.replace('matrix', 'matriX')))
  assert.match(found?.proxied ?? '', /matri⟦here⟧X/)
})

test('status, content type and vary are compared', () => {
  const one = answer(`${data}}`)
  assert.equal(compareAnswers(one, answer(`${data}}`, 204))?.what, 'status')
  assert.equal(
    compareAnswers(one, answer(`${data}}`, 200, { 'content-type': 'text/json' }))?.what,
    'content-type',
  )
  assert.equal(compareAnswers(one, answer(`${data}}`, 200, { vary: '' }))?.what, 'vary')
})

test('annotations: any order, more than direct, never fewer', () => {
  const ab = `${data},"warnings":["a","b"]}`
  assert.equal(differs(ab, `${data},"warnings":["b","a"]}`), undefined)
  assert.equal(differs(ab, `${data},"warnings":["b","a"],"infos":["c"]}`), undefined)
  assert.equal(differs(ab, `${data},"warnings":["b"]}`), 'warnings')
  assert.equal(differs(`${data},"infos":["c"]}`, `${data}}`), 'infos')
  assert.equal(differs(`${data}}`, `${data},"infos":["c"]}`), undefined)
})

test('annotations: numbers may differ, the position may not', () => {
  const info = (text: string) => `${data},"infos":["${text}"]}`
  assert.equal(differs(info('fixed by 0.5 (1:20)'), info('fixed by 0.7 (1:20)')), undefined)
  assert.equal(differs(info('fixed by 0.5 (1:20)'), info('fixed by 0.5 (1:21)')), 'infos')
  const [few, many] = ['from 0.05 to +Inf, diff 72, 8 samples', 'from 5 to 10, diff 1.2e+04, -8 samples']
  assert.equal(differs(info(`${few} (1:2)`), info(`${many} (1:2)`)), undefined)
  assert.equal(differs(info(`${few} (1:2)`), info(`${many}, too (1:2)`)), 'infos')
})

test('annotations of an error are part of its bytes', () => {
  const error = '{"status":"error","errorType":"execution","error":"x","infos":["a","b"]}'
  const other = error.replace('["a","b"]', '["b","a"]')
  assert.equal(compareAnswers(answer(error, 422), answer(other, 422))?.what, 'body')
})

test('a label called warnings is data', () => {
  const body = '{"status":"success","data":{"result":[{"metric":{"a":"b","warnings":"[x"}}]}}'
  assert.equal(splitAnnotations(Buffer.from(body)).data.toString(), body)
})

test('the outcome is read from Cache-Status', () => {
  const seen = (value: string) => outcomeOf(answer('', 200, { 'cache-status': value }))
  const partial =
    'windowpane; fwd=partial; fwd-status=200; stored; detail="partial/expired asked=4 buckets=720"'
  assert.deepEqual(seen('windowpane; hit; detail="hit"'), { outcome: 'hit', reason: '', asked: 0 })
  assert.deepEqual(seen(partial), { outcome: 'partial', reason: 'expired', asked: 4 })
  assert.deepEqual(seen('windowpane; fwd=bypass; detail="bypass/sorting"'), {
    outcome: 'bypass',
    reason: 'sorting',
    asked: 0,
  })
  assert.equal(seen('other; hit').outcome, 'none')
})
