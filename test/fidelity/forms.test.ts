/** Every form fits its marks: the suite would prove little with queries that are wrong or empty by accident. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from '../data/dataset.ts'
import { ApiClient } from './client.ts'
import { judgeMarks, standardParams } from './marks.ts'
import { forms, formsFor, isAtLeast } from './queries.ts'
import { startDatabase } from './setup.ts'

test('the forms are many, distinct and mostly eligible', () => {
  const keys = forms.map((form) => JSON.stringify(standardParams(form)))
  const repeated = keys.filter((key, index) => keys.indexOf(key) !== index)
  assert.deepEqual(repeated, [])
  assert.ok(forms.length >= 400, `${forms.length} forms`)
  assert.ok(forms.filter((form) => form.eligible).length / forms.length >= 0.8)
})

test('the forms query every metric of the data', () => {
  const asked = forms.map((form) => form.query.replaceAll('\\"', '"')).join('\n')
  assert.deepEqual(
    catalogue.map((entry) => entry.name).filter((name) => !asked.includes(name)),
    [],
  )
})

test('newer versions make more forms eligible, and no others', () => {
  const eligibleWith = (version: string) => formsFor(version).filter((form) => form.eligible).length
  const later = forms.filter((form) => form.eligibleSince !== undefined).length
  assert.ok(later > 0)
  assert.equal(eligibleWith('3.8.1') + later, eligibleWith('3.9.0-rc.0'))
  assert.deepEqual(
    ['2.53.0', '3.8.9', '3.9.0', '3.14.0+ds1', '4.0.0', 'unknown'].map((version) =>
      isAtLeast(version, [3, 9]),
    ),
    [false, false, true, true, true, false],
  )
})

test('every form succeeds, fails or is empty as marked', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const client = new ApiClient(prometheus.url)
  t.after(() => client.close())
  const { faults, nonEmpty } = await judgeMarks(formsFor(prometheus.version), client)
  assert.deepEqual(faults, [])
  t.diagnostic(`${nonEmpty} of ${forms.length} forms have a non-empty answer`)
  assert.ok(nonEmpty / forms.length >= 0.8, `${nonEmpty} of ${forms.length}`)
})
