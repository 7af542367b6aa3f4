/** The planner and syntax newer than the packaged server, as far as that goes without a server: in every run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examine } from '../../src/backends/prometheus/promql.ts'
import { newerForms } from './newer-forms.ts'

const marked = newerForms.filter((form) => form.error === undefined)

test('every newer form is eligible, or refused for the reason it is marked with', () => {
  for (const { query, eligible, bypass } of marked) {
    const examined = examine(query)
    const got = 'bypass' in examined ? examined.bypass : 'eligible'
    assert.equal(got, eligible ? 'eligible' : bypass, query)
  }
})
