/** The policies of the configuration are those of the library. */
import assert from 'node:assert/strict'
import test from 'node:test'
import * as library from '../index.ts'
import { policySection } from './policy-types.ts'

test('every policy that can be configured is exported under the name of its type', () => {
  const types = Object.keys(policySection.cases)
  assert.ok(types.length >= 8, types.join())
  for (const type of types) assert.equal(typeof Reflect.get(library, type), 'function', type)
})
