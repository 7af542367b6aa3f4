/** Every form fits its marks: the suite would prove little with queries that are wrong or empty by accident. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireServer } from '../../data/fixture.ts'
import { startDruidFixture } from '../fixture.ts'
import { faultsOf } from './marks.ts'
import { nativeForms, sqlForms } from './queries.ts'

const all = [...nativeForms, ...sqlForms]

test('the forms are many, distinct and mostly eligible', () => {
  const names = all.map((form) => form.name)
  const repeated = names.filter((name, i) => names.indexOf(name) !== i)
  assert.deepEqual(repeated, [])
  assert.ok(nativeForms.length >= 200, `${nativeForms.length} native forms`)
  assert.ok(sqlForms.length >= 100, `${sqlForms.length} SQL forms`)
  for (const forms of [nativeForms, sqlForms]) {
    assert.ok(forms.filter((form) => form.eligible).length / forms.length > 0.8)
  }
})

test('every form succeeds, fails or is empty as marked', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  t.diagnostic(`${nativeForms.length} native forms, ${sqlForms.length} SQL forms`)
  assert.deepEqual(await faultsOf(all, druid.brokerUrl), [])
})
