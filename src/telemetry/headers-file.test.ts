import assert from 'node:assert/strict'
import test from 'node:test'
import { parseHeaders } from './headers-file.ts'

test('lines of names and values; comments and empty lines are ignored', () => {
  const text = '# for the collector\r\nAuthorization: Bearer a:b c\r\n\nX-Scope-OrgID:team\nerror: x\n'
  const parsed = parseHeaders(text)
  assert.ok('fields' in parsed)
  assert.deepEqual(
    { ...parsed.fields },
    { authorization: 'Bearer a:b c', 'x-scope-orgid': 'team', error: 'x' },
  )
})

for (const text of ['secret', 'a b: c', ': value', 'name: \u0001', '__proto__ : x']) {
  test(`a line that is no header is reported without its content: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseHeaders(`ok: 1\n${text}`), { error: 'line 2 is not "Name: value"' })
  })
}

test('names are names only', () => {
  const parsed = parseHeaders('__proto__: x')
  assert.ok('fields' in parsed)
  assert.deepEqual(Object.keys(parsed.fields), ['__proto__'])
})
