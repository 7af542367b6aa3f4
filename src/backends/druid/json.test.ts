import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalText } from './canonical.ts'
import { type JsonNode, plainOf, readJson } from './json.ts'

function read(text: string): JsonNode {
  const node = readJson(text)
  assert.ok(!('bypass' in node), text)
  return node
}

function problemOf(text: string): string | undefined {
  const node = readJson(text)
  return 'bypass' in node ? node.detail : undefined
}

function parsesAsJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('any value is read as JavaScript reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2, '\t'), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      assert.deepEqual(plainOf(read(text)), JSON.parse(text))
    }),
  )
})

test('any text is read exactly where JavaScript reads it, but for members that come twice', () => {
  const piece = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '\\u0061',
      '1',
      '-',
      '.5',
      'e9',
      '0',
      'true',
      'null',
      ' ',
    ],
    '\n',
    '\u0001',
    '\u00a0',
    '"b":',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
      const text = pieces.join('')
      const problem = problemOf(text)
      if (problem !== 'the same member twice in one object') {
        assert.equal(problem === undefined, parsesAsJson(text), text)
      }
    }),
    { numRuns: 5000 },
  )
})

test('each value knows where it stands', () => {
  const text = ' {"a" : [1, "x\\n"], "b":{}} '
  const node = read(text)
  assert.ok(node.kind === 'object')
  assert.equal(text.slice(node.start, node.end), text.trim())
  const list = node.members.get('a')!
  assert.equal(text.slice(list.start, list.end), '[1, "x\\n"]')
  assert.ok(list.kind === 'array')
  assert.equal(text.slice(list.items[1]!.start, list.items[1]!.end), '"x\\n"')
})

test('a member twice is refused, also when one name is written in escapes', () => {
  assert.equal(problemOf('{"a":1,"a":1}'), 'the same member twice in one object')
  assert.equal(problemOf('{"a":1,"\\u0061":1}'), 'the same member twice in one object')
  assert.equal(problemOf('[{"x":{"a":1,"b":2,"a":3}}]'), 'the same member twice in one object')
  assert.equal(problemOf('{"a":{"a":1},"b":{"a":1}}'), undefined)
})

test('names that objects of JavaScript have anyway are names like others', () => {
  const plain = plainOf(read('{"__proto__":1,"constructor":{"hasOwnProperty":2}}')) as object
  assert.deepEqual(Object.keys(plain), ['__proto__', 'constructor'])
  assert.equal(Object.getPrototypeOf(plain), Object.prototype)
})

test('deep nesting and something behind the end are refused', () => {
  assert.equal(problemOf('['.repeat(100_000)), 'nested too deeply')
  assert.equal(problemOf('{"a":'.repeat(100_000)), 'nested too deeply')
  assert.equal(problemOf(`${'['.repeat(150)}${']'.repeat(150)}`), undefined)
  assert.equal(problemOf('{} {}'), 'something behind the end of the JSON text')
  assert.equal(problemOf('\ufeff{}'), 'not JSON')
  assert.equal(problemOf(''), 'not JSON')
})

test('the canonical text has the same meaning, whatever the order of members and the spaces', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer(), (record, seed) => {
      const names = Object.keys(record)
      const turned = names.map((_, i) => names[(i + Math.abs(seed % (names.length || 1))) % names.length]!)
      const other = `{ ${turned.map((name) => `${JSON.stringify(name)} : ${JSON.stringify(record[name], null, 1)}`).join(' , ')} }`
      const text = canonicalText(read(JSON.stringify(record)))
      assert.equal(canonicalText(read(other)), text)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(record)))
    }),
  )
})

test('numbers stay as they were written', () => {
  const text = '[1,1.0,1e0,9223372036854775807,0.1000000000000000055511151231257827,-0]'
  assert.equal(canonicalText(read(text)), text)
})

test('escapes that mean the same become the same', () => {
  assert.equal(canonicalText(read('"\\u00e4\\/\\ud83d\\ude00"')), canonicalText(read('"ä/😀"')))
  assert.equal(canonicalText(read('"\\ud800"')), '"\\ud800"')
})
