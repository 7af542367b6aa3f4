import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutCredentials } from './url.ts'

for (const [given, shown] of [
  ['http://h:1', 'http://h:1/'],
  ['http://h:1/a/@b', 'http://h:1/a/@b'],
  ['https://u:p@h/x', 'https://h/x'],
  ['http://:p@h', 'http://h/'],
  ['http://u:p@h:99999', '…@h:99999'],
  ['u:p@h', '…@h'],
  ['h:9090', 'h:9090'],
] as const) {
  test(`${given} is shown as ${shown}`, () => assert.equal(withoutCredentials(given), shown))
}
