/** The schema and the loader agree on the form of a file; the loader also checks its meaning. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { parse, parseDocument } from 'yaml'
import type { JsonSchema } from '../src/config/definition.ts'
import { loadConfig } from '../src/config/load.ts'
import { configurationSchema } from './configuration-schema.ts'

type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value }

const isObject = (value: Value): value is { readonly [key: string]: Value } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const types: Readonly<Record<string, (value: Value) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

type Rule = (wanted: never, value: Value, schema: JsonSchema) => boolean

/** The keywords that the schema uses; a keyword that is not here fails the test. */
const rules: Readonly<Record<string, Rule>> = {
  $schema: () => true,
  title: () => true,
  description: () => true,
  default: () => true,
  type: (wanted: string | string[], value) => [wanted].flat().some((name) => types[name]!(value)),
  enum: (wanted: readonly Value[], value) => wanted.includes(value),
  const: (wanted: Value, value) => wanted === value,
  pattern: (wanted: string, value) => typeof value !== 'string' || new RegExp(wanted, 'u').test(value),
  minimum: (wanted: number, value) => typeof value !== 'number' || value >= wanted,
  maximum: (wanted: number, value) => typeof value !== 'number' || value <= wanted,
  exclusiveMinimum: (wanted: number, value) => typeof value !== 'number' || value > wanted,
  exclusiveMaximum: (wanted: number, value) => typeof value !== 'number' || value < wanted,
  anyOf: (wanted: readonly JsonSchema[], value) => wanted.some((one) => isValid(one, value)),
  oneOf: (wanted: readonly JsonSchema[], value) => wanted.filter((one) => isValid(one, value)).length === 1,
  items: (wanted: JsonSchema, value) => !Array.isArray(value) || value.every((one) => isValid(wanted, one)),
  minItems: (wanted: number, value) => !Array.isArray(value) || value.length >= wanted,
  minProperties: (wanted: number, value) => !isObject(value) || Object.keys(value).length >= wanted,
  required: (wanted: readonly string[], value) =>
    !isObject(value) || wanted.every((name) => Object.hasOwn(value, name)),
  propertyNames: (wanted: JsonSchema, value) =>
    !isObject(value) || Object.keys(value).every((name) => isValid(wanted, name)),
  properties: (wanted: Readonly<Record<string, JsonSchema>>, value) =>
    !isObject(value) ||
    Object.entries(wanted).every(([name, one]) => !Object.hasOwn(value, name) || isValid(one, value[name]!)),
  additionalProperties(wanted: JsonSchema | false, value, schema) {
    const known = Object.keys((schema['properties'] as object | undefined) ?? {})
    const others = isObject(value) ? Object.entries(value).filter(([name]) => !known.includes(name)) : []
    return wanted === false ? others.length === 0 : others.every(([, one]) => isValid(wanted, one))
  },
}

function isValid(schema: JsonSchema, value: Value): boolean {
  return Object.entries(schema).every(([keyword, wanted]) => rules[keyword]!(wanted as never, value, schema))
}

const fixtures = join(import.meta.dirname, '../src/config/fixtures')
const schema = configurationSchema()
const loads = (text: string): boolean =>
  'config' in loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(text) } })
const validates = (text: string): boolean => isValid(schema, parse(text) as Value)

const main = 'backends: { main: { url: http://a:9090 } }\n'
const everything = readFileSync(join(fixtures, 'everything.yaml'), 'utf8')

for (const text of [
  everything,
  main,
  'backends: { main: { url: [http://a, https://b/c/] } }',
  `${main}limits:\n  # drain: 5s\n`,
  `${main}limits: { memory: 536870912, maxStale: 0s, drain: 1d }`,
  `${main}rules: []\npolicies: {}\nstores:\nadmin:\n`,
  `${main}policies: { p: { type: steps, steps: [{ age: 0s, ttl: 5s }] } }`,
  `${main}policies: { p: { type: ladder }, q: {} }`,
  `${main}policies: { p: { staleness: 1% }, q: { type: learned }, r: { type: learned, staleness: 0.01 } }`,
  `${main}policies: { p: { type: rate, changesEvery: 5d, staleness: 10 % } }`,
  `${main}listen: ":0"`,
  `${main}stores: { a: { url: 'lmdb:/x?size=1GiB' }, b: { type: lmdb, url: 'lmdb:y', reserve: 0B }, c: { url: 'memory:' } }`,
]) {
  test(`accepted by both: ${text.slice(0, 70).replaceAll('\n', '⏎')}`, () => {
    assert.ok(loads(text), 'loader')
    assert.ok(validates(text), 'schema')
  })
}

/** Refusals because of the meaning of values, or of the notation of the text: no schema can express them. */
const beyondSchema = new Set([
  ...['a learned policy whose floor is above its cap', 'a rate whose changes never come'],
  ...['a floor above the cap', 'steps whose TTL falls', 'steps below the floor', 'steps out of order'],
  ...[
    'an answer larger than memory',
    'a duration too long for a timer',
    'a timeout of zero',
    'a size below the least',
  ],
  ...['a URL with a password', 'an unknown policy', 'an unknown store', 'a rule for an unknown backend'],
  ...[
    'identity by headers without headers',
    'headers without identity by headers',
    'a certificate without key',
  ],
  ...[
    'a user without password',
    'two kinds of credentials',
    'a socket for two URLs',
    'a context for Prometheus',
    'a time zone that nobody has',
  ],
  ...['segments of a database that has none', 'segments that are looked at less often than is trusted'],
  ...['two backends for the same requests', 'two stores in one folder', 'two stores in one folder, by URL'],
  ...['a store whose URL has another path', 'a store whose URL has an unknown parameter'],
  ...[
    'a store whose URL has a bad size',
    'a store whose URL sets a key twice',
    'a durable store whose URL has a host',
  ],
  ...['a durable store whose URL has no path', 'a place in memory', 'a store whose URL holds a password'],
  ...[
    'a rule without condition',
    'a rule without effect',
    'a condition of two kinds',
    'a rule on credentials',
  ],
  'headers for no collector',
  ...['a regular expression that looks ahead', 'a regular expression that refers back'],
  ...['a regular expression that is none', 'the admin listener on the address of the proxy'],
  ...[
    'an open admin listener that may write',
    'a tag',
    'a tag of its own',
    'a key twice',
    'a second document',
  ],
])

const bad = readFileSync(join(fixtures, 'bad-files.txt'), 'utf8')
  .split(/^#### /m)
  .slice(1)
let both = 0
for (const block of bad) {
  const name = block.slice(0, block.indexOf('\n'))
  const text = block.slice(name.length + 1).split(/^##\n/m)[0]!
  if (beyondSchema.has(name) || /[␉␍]|\*/.test(text)) continue
  const document = parseDocument(text)
  if (document.errors.length > 0) continue
  const value = document.toJS() as Value
  both++
  test(`refused by both: ${name}`, () => assert.ok(!isValid(schema, value)))
}

test('most of the bad files are refused by the schema too', () => assert.ok(both >= 45, String(both)))
