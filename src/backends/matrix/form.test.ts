import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { WireRequest } from '../backend.ts'
import { firstValue, readForm, replaceValues } from './form.ts'

const formHeaders = ['content-type', 'application/x-www-form-urlencoded']
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const get = (search: string): WireRequest => ({
  method: 'GET',
  path: '/',
  search,
  headers: [],
  body: bytes(''),
})
const post = (body: string, search = '', headers: readonly string[] = formHeaders): WireRequest => ({
  method: 'POST',
  path: '/',
  search,
  headers,
  body: bytes(body),
})

const refusalOf = (request: WireRequest): string | undefined => {
  const form = readForm(request)
  return 'bypass' in form ? form.bypass : undefined
}

test('reads URL parameters of a GET', () => {
  assert.deepEqual(readForm(get('query=up&step=15')), ['query', 'up', 'step', '15'])
})

test('reads body parameters before URL parameters on POST', () => {
  const form = readForm(post('query=a&x=1', 'query=b&y=2'))
  assert.deepEqual(form, ['query', 'a', 'x', '1', 'query', 'b', 'y', '2'])
})

test('the first value counts, as with FormValue, and an empty one is as good as none', () => {
  assert.equal(firstValue(['a', '1', 'a', '2'], 'a'), '1')
  assert.equal(firstValue(['a', '', 'a', '2'], 'a'), undefined)
  assert.equal(firstValue(['a', '1'], 'b'), undefined)
})

test('decodes plus signs, escapes and UTF-8 in names and values', () => {
  assert.deepEqual(readForm(get('qu%65ry=a+%2B+b&x=%C3%A9%F0%9F%98%80')), ['query', 'a + b', 'x', 'é😀'])
})

test('skips empty pairs and reads a name without an equals sign', () => {
  assert.deepEqual(readForm(get('&&a&b=&=c&d=1=2')), ['a', '', 'b', '', '', 'c', 'd', '1=2'])
})

test('takes the content type in any case and with the charset that it has anyway', () => {
  const type = 'Application/X-WWW-Form-URLEncoded; charset=UTF-8'
  assert.equal(refusalOf(post('a=1', '', ['content-type', type])), undefined)
})

const refusals: readonly (readonly [string, WireRequest])[] = [
  ['a semicolon in the URL', get('query=a;b=1')],
  ['a semicolon in the body', post('query=a;b=1')],
  ['an invalid escape', get('query=%zz')],
  ['a truncated escape', get('query=%2')],
  ['an escape that is not UTF-8', get('query=%ff')],
  ['an escaped surrogate', get('query=%ED%A0%80')],
  ['an invalid escape in a name', get('%zz=1')],
  ['a raw character beyond ASCII in the URL', get('query=é')],
  ['a raw byte beyond ASCII in the body', post('query=é')],
  ['a body on GET', { ...get('query=up'), body: bytes('query=down') }],
  ['a multipart body', post('query=up', '', ['content-type', 'multipart/form-data; boundary=x'])],
  ['a JSON body', post('{}', '', ['content-type', 'application/json'])],
  ['another charset', post('query=up', '', ['content-type', `${formHeaders[1]}; charset=utf-16`])],
  ['a POST without a content type', post('query=up', '', [])],
  ['two content types', post('query=up', '', [...formHeaders, ...formHeaders])],
  ['an encoded request body', post('query=up', '', [...formHeaders, 'content-encoding', 'gzip'])],
  ['too many parameters', get('a=1&'.repeat(1001))],
  ['a form larger than Go reads', { ...post(''), body: new Uint8Array((10 << 20) + 1).fill(97) }],
]

for (const [what, request] of refusals) {
  test(`refuses ${what}`, () => assert.equal(refusalOf(request), 'malformed_request'))
}

test('replaces every occurrence in place and leaves all other bytes', () => {
  const values = new Map([
    ['start', '10'],
    ['end', '20'],
  ])
  const raw = '&query=a+b%20%7b&st%61rt=1&start&end=2&&restart=3&start=4=5&x'
  assert.equal(
    replaceValues(raw, values),
    '&query=a+b%20%7b&st%61rt=10&start=10&end=20&&restart=3&start=10&x',
  )
})

test('reads the output of URLSearchParams', () => {
  const pair = fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(fc.array(pair), (pairs) => {
      const raw = new URLSearchParams(pairs).toString()
      assert.deepEqual(readForm(get(raw)), pairs.flat())
      assert.deepEqual(readForm(post(raw)), pairs.flat())
    }),
  )
})

test('refuses or reads any text whatever, and replacing nothing changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (body, search) => {
      readForm(post(body, search))
      assert.equal(replaceValues(search, new Map()), search)
    }),
  )
})
