import assert from 'node:assert/strict'
import test from 'node:test'
import { readJsonObject } from './json-object.ts'

for (const [text, expected] of [
  ['{}', { kind: 'object', fields: {} }],
  [' {"b": [1], "a": null}\n', { kind: 'object', fields: { b: [1], a: null } }],
  ['', { kind: 'not_json' }],
  ['{"a": 1', { kind: 'not_json' }],
  ['[{"a": 1}]', { kind: 'not_object' }],
  ['null', { kind: 'not_object' }],
  ['"a"', { kind: 'not_object' }],
  ['{"a": 1, "c": 2, "d": 3}', { kind: 'unknown_field', name: 'c' }],
] as const) {
  test(`an object with fields a and b, or the reason why it is none: ${JSON.stringify(text)}`, () =>
    assert.deepEqual(readJsonObject(text, ['a', 'b']), expected))
}
