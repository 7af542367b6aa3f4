import assert from 'node:assert/strict'
import test from 'node:test'
import { noBytes } from '../../core/bytes.ts'
import { WholeRules } from './whole-terms.ts'

test('the text of a further path has no token in it, however the parameter is written', () => {
  const settings = { endpoints: {}, paths: [{ path: '/list', enabled: true }], instantWithinMs: 0 }
  const rules = new WholeRules(undefined, settings)
  const textOf = (search: string): string =>
    rules.plan({ method: 'GET', path: '/list', search, headers: [], body: noBytes }, 0)!.text
  for (const name of ['access_token', 'access%5Ftoken', '%74oken'])
    assert.match(textOf(`a=1&${name}=hidden`), /^\["\/list","a=1","[^"=]+=\*{3}[\w-]{22}"\]$/)
  assert.notEqual(textOf('token=hidden'), textOf('token=other'))
})
