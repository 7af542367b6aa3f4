import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differenceFrom } from './difference.ts'

const difference = (direct: string, answer: string) =>
  differenceFrom(Buffer.from(direct), Buffer.from(answer))
const row = (result: string, timestamp = '"2026-01-01T05:00:00.000Z"') =>
  `[{"timestamp":${timestamp},"result":${result}}]`

const equal: Record<string, readonly [string, string]> = {
  'the same bytes': ['anything\n', 'anything\n'],
  'members in another order': [row('{"delta":1.0,"n":4}'), row('{"n":4,"delta":1.0}')],
  'the timestamp in another zone': [row('{"n":4}'), row('{"n":4}', '"2026-01-01T00:00:00.000-05:00"')],
  'both, in a topN': [
    row('[{"added":1500,"page":"A"},{"page":"B","added":null}]'),
    row('[{"page":"A","added":1500},{"page":"B","added":null}]', '"2026-01-01T00:00:00.000-05:00"'),
  ],
  'a long that is no double': [
    row('{"a":1242993497154257034,"b":1}'),
    row('{"b":1,"a":1242993497154257034}'),
  ],
  'nested values': [row('{"a":{"x":[1,{"y":2,"z":3}]},"b":1}'), row('{"b":1,"a":{"x":[1,{"z":3,"y":2}]}}')],
}
for (const [name, [direct, answer]] of Object.entries(equal)) {
  test(`${name}: no difference`, () => assert.equal(difference(direct, answer), 'none'))
}

const event = (members: string) =>
  `[{"version":"v1","timestamp":"2026-01-01T05:00:00.000Z","event":{${members}}}]`
const different: Record<string, readonly [string, string]> = {
  'another value': [row('{"n":4}'), row('{"n":5}')],
  'a number written differently': [row('{"n":1}'), row('{"n":1.0}')],
  'a long in its last digit': [row('{"n":1242993497154257034}'), row('{"n":1242993497154257035}')],
  'a number for its text': [row('{"n":1}'), row('{"n":"1"}')],
  'null for nothing': [row('{"n":null}'), row('{}')],
  'null for a list': [row('{"n":null}'), row('{"n":[]}')],
  'a list for an object': [row('[]'), row('{}')],
  'a member more': [row('{"n":1}'), row('{"n":1,"m":2}')],
  'another name': [row('{"n":1}'), row('{"m":1}')],
  'another instant': [row('{"n":4}'), row('{"n":4}', '"2026-01-01T05:00:00.000-05:00"')],
  'an instant as a dimension, in another zone': [
    row('{"t":"2026-01-01T05:00:00.000Z"}'),
    row('{"t":"2026-01-01T00:00:00.000-05:00"}'),
  ],
  'topN rows in another order': [row('[{"p":"A"},{"p":"B"}]'), row('[{"p":"B"},{"p":"A"}]')],
  'a row less': ['[]', row('{}')],
  'a groupBy in another order of members': [event('"a":1,"b":2'), event('"b":2,"a":1')],
  'an SQL answer in another order of members': ['[{"a":1,"b":2}]\n', '[{"b":2,"a":1}]\n'],
  'no JSON': [row('{"n":4}'), '<html>'],
  'an inherited name': [row('{"toString":1}'), row('{"n":1}')],
  'a prototype': [row('{"__proto__":{"n":1}}'), row('{"__proto__":{"n":2}}')],
}
for (const [name, [direct, answer]] of Object.entries(different)) {
  test(`${name}: a difference`, () => {
    assert.equal(difference(direct, answer), 'data')
    assert.equal(difference(answer, direct), 'data')
  })
}

for (const depth of [101, 2000, 5000, 20_000, 200_000]) {
  test(`lists in each other, ${depth} deep: a difference, not a crash`, () => {
    const deep = (spelling: string) => row(`${'['.repeat(depth)}{${spelling}}${']'.repeat(depth)}`)
    assert.equal(difference(deep('"a":1,"b":2'), deep('"b":2,"a":1')), 'data')
  })
}
