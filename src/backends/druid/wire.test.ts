import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyTextOf, refuseWire } from './wire.ts'

const request = (headers: readonly string[], search = '', body: Uint8Array = new Uint8Array()) => ({
  method: 'POST',
  path: '/druid/v2',
  search,
  headers,
  body,
})

const reasonOf = (headers: readonly string[], search = ''): string | undefined =>
  refuseWire(request(headers, search))?.bypass

test('JSON, declared in the usual ways or not at all, is accepted', () => {
  for (const type of [
    'application/json',
    'application/json;charset=utf-8',
    'Application/JSON; charset="UTF-8"',
  ]) {
    assert.equal(reasonOf(['content-type', type]), undefined, type)
  }
  assert.equal(reasonOf([]), undefined)
})

test('other content is not', () => {
  for (const type of ['text/plain', 'application/json; charset=latin1', 'application/jsonx', '']) {
    assert.equal(reasonOf(['content-type', type]), 'malformed_request', type)
  }
  const twice = ['content-type', 'application/json', 'content-type', 'application/json']
  assert.equal(reasonOf(twice), 'malformed_request')
  assert.equal(reasonOf(['content-encoding', 'gzip']), 'malformed_request')
})

test('Smile, indented JSON and clients that take no JSON are passed on', () => {
  assert.equal(reasonOf(['content-type', 'application/x-jackson-smile']), 'other_encoding')
  assert.equal(reasonOf(['accept', 'application/json, application/x-jackson-smile;q=0.1']), 'other_encoding')
  assert.equal(reasonOf(['accept', 'application/smile']), 'other_encoding')
  assert.equal(reasonOf(['accept', 'text/html']), 'other_encoding')
  assert.equal(reasonOf(['accept', 'application/json;q=0']), 'other_encoding')
  for (const search of ['pretty', 'pretty=', 'a=1&pretty=false', '%70retty']) {
    assert.equal(reasonOf([], search), 'other_encoding', search)
  }
  assert.equal(reasonOf([], '%zz'), 'malformed_request')
})

test('lists that JSON is in are taken', () => {
  for (const accept of ['*/*', 'text/html, application/json;q=0.9', 'application/*', 'text/csv,*/*;q=0.1']) {
    assert.equal(reasonOf(['accept', accept]), undefined, accept)
  }
  assert.equal(reasonOf([], 'a=1&prettyish'), undefined)
})

test('an entity tag concerns the whole answer', () => {
  assert.equal(reasonOf(['if-none-match', 'x']), 'not_decomposable')
})

test('a body must be UTF-8', () => {
  assert.equal(bodyTextOf(request([], '', Buffer.from('"ä😀"'))), '"ä😀"')
  const latin1 = bodyTextOf(request([], '', Buffer.from('ä', 'latin1')))
  assert.ok(typeof latin1 !== 'string' && latin1.bypass === 'malformed_request')
})
